"""Random search, every trial is its own process. A trial that dies gets the score 'failed' and the search goes on."""
import argparse
import json
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

ap = argparse.ArgumentParser()
ap.add_argument("--trials", type=int, default=10)
ap.add_argument("--jobs", type=int, default=2)
a = ap.parse_args()
rng = random.Random(4)
space = [dict(lr=10 ** rng.uniform(-3, 2.2), hidden=rng.choice([16, 64, 256]), act=rng.choice(["relu", "gelu", "tanh"]), heads=rng.choice([2, 4, 6])) for _ in range(a.trials)]


def run(i):
    p = subprocess.run([sys.executable, "trial.py", json.dumps(space[i])], capture_output=True, text=True, timeout=50)
    for line in (p.stdout + p.stderr).splitlines():
        print(f"  trial {i:02d} | {line}")
    if p.returncode != 0:
        print(f"[sweep] trial {i:02d} FAILED (exit code {p.returncode}) {space[i]}")
        return i, None
    score = json.loads(p.stdout.splitlines()[-1])["val_mse"]
    print(f"[sweep] trial {i:02d} val_mse {score:.4f}")
    return i, score


with ThreadPoolExecutor(a.jobs) as ex:
    res = list(ex.map(run, range(a.trials)))
ok = [(s, i) for i, s in res if s is not None]
print(f"[sweep] {len(ok)} of {a.trials} trials completed, {a.trials - len(ok)} failed or diverged")
s, i = min(ok)
json.dump({"trial": i, "val_mse": s, **space[i]}, open("best.json", "w"))
print("[sweep] best configuration written to best.json")
