"""Random protein-like sequences in three length buckets (short / medium / long)."""
import numpy as np
aa = np.array(list("ACDEFGHIKLMNPQRSTVWY"))
rng = np.random.default_rng(7)
for b, (lo, hi, n) in enumerate([(30, 60, 900), (60, 110, 900), (380, 512, 900)]):
    with open(f"bucket{b}.txt", "w") as f:
        for _ in range(n):
            f.write("".join(rng.choice(aa, rng.integers(lo, hi))) + "\n")
    print(f"bucket{b}.txt: {n} sequences, {lo}-{hi} aa")
