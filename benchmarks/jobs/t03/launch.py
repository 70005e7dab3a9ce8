"""tiny local launcher: N processes, prefixes each line, stops everybody when one fails"""
import argparse
import os
import subprocess
import sys
import threading
import time

p = argparse.ArgumentParser()
p.add_argument("--n", type=int)
p.add_argument("--port")
p.add_argument("script")
a = p.parse_args()


def pump(i, f):
    for line in f:
        sys.stdout.write(f"{i}| {line}")
        sys.stdout.flush()


procs, ths = [], []
for i in range(a.n):
    env = dict(os.environ, RANK=str(i), WORLD_SIZE=str(a.n), MASTER_ADDR="127.0.0.1", MASTER_PORT=a.port)
    q = subprocess.Popen([sys.executable, a.script], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    procs.append(q)
    t = threading.Thread(target=pump, args=(i, q.stdout))
    t.start()
    ths.append(t)
print("launch: pids", [q.pid for q in procs])
bad = None
while any(q.poll() is None for q in procs):
    time.sleep(0.3)
    if bad is None and any(q.poll() not in (None, 0) for q in procs):
        bad = time.time()
    if bad and time.time() - bad > 4:
        for i, q in enumerate(procs):
            if q.poll() is None:
                print(f"launch: stopping {i}")
                q.terminate()
for t in ths:
    t.join()
print("launch: exit codes", {i: q.returncode for i, q in enumerate(procs)})
sys.exit(max(abs(q.returncode) for q in procs) and 1)
