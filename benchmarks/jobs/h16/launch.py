import os, subprocess, sys, yaml
cfg = yaml.safe_load(open("cluster.yaml"))
procs = []
for w in cfg["workers"]:
    env = dict(os.environ, RANK=str(w["rank"]), WORLD_SIZE=str(len(cfg["workers"])),
               MASTER_ADDR="127.0.0.1", MASTER_PORT=str(w.get("port", cfg["port"])))
    procs.append((w["name"], subprocess.Popen([sys.executable, "worker.py", w["name"]], env=env)))
for name, p in procs:
    print(f"launch.py: {name} exit status {p.wait()}", flush=True)
