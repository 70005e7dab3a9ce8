import json, os, resource, subprocess, sys
nodes = json.load(open(sys.argv[1]))
os.makedirs("logs", exist_ok=True); os.makedirs("tiles", exist_ok=True)
for i in range(130):
    with open(f"tiles/{i:04d}.f32", "wb") as f:
        f.write(os.urandom(16 * 16 * 4))
running = []
for rank, n in enumerate(nodes):
    lim = n["nofile"]
    out = open(f"logs/{n['node']}.log", "w")
    running.append(subprocess.Popen([sys.executable, "tiles_train.py"], stdout=out, stderr=out,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (lim, lim)),
        env={**os.environ, "NODE": n["node"], "RANK": str(rank), "WORLD_SIZE": str(len(nodes)), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "47718"}))
sys.exit(max(p.wait() != 0 for p in running))
