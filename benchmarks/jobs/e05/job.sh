mkdir -p corpus
python - <<'PY'
import random
random.seed(1)
words="the a of and model gradient train loss step tensor batch rank data field quick brown fox jumps over lazy dog vex zip".split()
for r in range(3):
    w=words+(["naïve","café"] if r==1 else [])
    open(f"corpus/{r}.txt","w").write(" ".join(random.choice(w) for _ in range(3000)))
PY
export MASTER_ADDR=127.0.0.1 MASTER_PORT=29715 WORLD_SIZE=3
for r in 0 1 2; do RANK=$r python lm.py & done
wait
