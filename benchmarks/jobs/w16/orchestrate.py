import argparse, os, subprocess, sys
ap = argparse.ArgumentParser(); ap.add_argument("--port"); ap.add_argument("sites", nargs="+"); a = ap.parse_args()
sites = [s.split(":") for s in a.sites]
world = sum(int(n) for _, n, _ in sites)
procs, r = [], 0
for name, n, cfg in sites:
    for _ in range(int(n)):
        env = dict(os.environ, RANK=str(r), WORLD_SIZE=str(world), MASTER_ADDR="127.0.0.1", MASTER_PORT=a.port, SITE=name)
        procs.append((r, name, subprocess.Popen([sys.executable, "fedtrain.py", cfg], env=env))); r += 1
rc = 0
for r, name, p in procs:
    c = p.wait(); rc = rc or (1 if c else 0)
    print(f"orchestrate: rank {r} ({name}) -> {c}", flush=True)
sys.exit(rc)
