import os, subprocess, sys, time

hosts = ["basalt", "granite", "marble", "slate"]
ps = []
for i, h in enumerate(hosts):
    env = dict(os.environ, RANK=str(i), WORLD_SIZE="4", MASTER_ADDR="127.0.0.1", MASTER_PORT="47916", NODE=h)
    ps.append(subprocess.Popen([sys.executable, "node.py"], env=env, stdout=open(f"logs/{h}.jsonl", "w"), stderr=subprocess.STDOUT))
end = None
while any(p.poll() is None for p in ps):
    time.sleep(.5)
    if end is None and any(p.poll() for p in ps):
        end = time.time() + 5
    if end and time.time() > end:
        [p.terminate() for p in ps if p.poll() is None]
sys.exit(max(abs(p.returncode) for p in ps))
