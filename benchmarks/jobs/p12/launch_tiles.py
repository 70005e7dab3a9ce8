import subprocess, sys, os
n = int(sys.argv[1])
ps = [subprocess.Popen([sys.executable, "tiles_train.py"], env=dict(os.environ, RANK=str(r), WORLD_SIZE=str(n), MASTER_ADDR="127.0.0.1", MASTER_PORT="47112")) for r in range(n)]
codes = [p.wait() for p in ps]
for r, c in enumerate(codes):
    print(f"launch: worker {r} returned {c}")
sys.exit(max(map(abs, codes)))
