#!/usr/bin/env python
"""minilaunch: start N copies, prefix their output, report how they end."""
import os, subprocess, sys, threading

n = int(sys.argv[1])
cmd = sys.argv[2:]


def pump(rank, pipe):
    for line in iter(pipe.readline, b""):
        sys.stdout.write(f"({rank}) {line.decode(errors='replace')}")
        sys.stdout.flush()


procs = []
for r in range(n):
    env = dict(os.environ, RANK=str(r), WORLD_SIZE=str(n), LOCAL_RANK=str(r))
    p = subprocess.Popen([sys.executable] + cmd, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    t = threading.Thread(target=pump, args=(r, p.stdout)); t.start()
    procs.append((p, t))
bad = 0
for r, (p, t) in enumerate(procs):
    p.wait(); t.join()
    bad = bad or p.returncode
    print(f"minilaunch: process {r} ended, status {p.returncode}", flush=True)
sys.exit(1 if bad else 0)
