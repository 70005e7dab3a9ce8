python - <<'PY'
import random
random.seed(4)
y=[random.randrange(12) for _ in range(1000)]
y[4*137+2]=12
open("labels.csv","w").write("\n".join(map(str,y)))
PY
PORT=29714 python main.py
