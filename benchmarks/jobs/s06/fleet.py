"""fleet.py - poor man's launcher: one child per inventory member, lines are tagged with the member's name"""
import json, os, subprocess, sys, threading, time

inv = json.load(open(sys.argv[1]))
host, port = inv["head"].split(":")
lock = threading.Lock()
procs = []

def pump(name, pipe):
    for line in pipe:
        with lock:
            print(f"{name:>10} ┃ {line.rstrip()}", flush=True)

for m in inv["members"]:
    env = dict(os.environ, RANK=str(m["rank"]), WORLD_SIZE=str(m["of"]), MASTER_ADDR=host, MASTER_PORT=port, GLOO_SOCKET_IFNAME="lo")
    q = subprocess.Popen([sys.executable, "worker.py", "--corpus", "wiki-sample", "--seed", "17"], env=env,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    t = threading.Thread(target=pump, args=(m["name"], q.stdout)); t.start()
    procs.append((m["name"], q, t))
t0 = time.time()
failed = []
for name, q, t in procs:
    q.wait(); t.join()
    if q.returncode: failed.append(f"{name}={q.returncode}")
print(f"fleet: {len(procs)} members, {time.time()-t0:.0f} s, failed: {', '.join(failed) or 'none'}")
sys.exit(1 if failed else 0)
