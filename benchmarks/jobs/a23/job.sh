gcc -O2 -shared -fPIC -o libfastops.so fastops.c
mkdir -p tok
python - <<'P'
import numpy as np
rng = np.random.default_rng(0)
for p in range(12):
    a = rng.integers(0, 32000, 50000)
    if p == 7: a[4000:4010] = -9223372036854775808 // 8 + 5
    np.save(f"tok/{p:03d}.npy", a)
P
torchrun --nproc-per-node 4 --master-port 21772 stats.py
