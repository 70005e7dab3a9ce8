import argparse, json, math, random, subprocess, sys
ap = argparse.ArgumentParser(); ap.add_argument("--trials", type=int, default=12); n = ap.parse_args().trials
random.seed(16); res = []
for t in range(n):
    hp = {"lr": 10 ** random.uniform(-3, 0.6), "hidden": random.choice([4, 8, 8, 16, 16, 24, 30000, 0]), "act": random.choice(["tanh", "tanh", "tanh", "relu", "gelu_fast"])}
    print(f"[search] trial {t}: {json.dumps(hp)}", flush=True)
    try:
        p = subprocess.run([sys.executable, "trial.py", json.dumps(hp)], stdout=subprocess.PIPE, timeout=8, text=True)
    except subprocess.TimeoutExpired as e:
        print(f"[search] trial {t} FAILED: {e}"); continue
    print(p.stdout, end="")
    if p.returncode:
        print(f"[search] trial {t} FAILED with exit code {p.returncode}, ignored"); continue
    res.append((float(p.stdout.split()[-1]), t, hp))
res.sort()
print(f"[search] {len(res)} of {n} trials completed, {n - len(res)} failed")
for v, t, hp in res: print(f"[search]   trial {t:2d}  val {v:.5f}  {hp}")
json.dump(res[0], open("best.json", "w"))
print(f"[search] best trial {res[0][1]} saved to best.json")
