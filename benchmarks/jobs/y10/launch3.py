#!/usr/bin/env python
"""Minimal launcher: starts n workers with an address-space cap each, prefixes their output, stops all when one fails."""
import argparse, os, resource, subprocess, sys, threading, time
ap = argparse.ArgumentParser(); ap.add_argument("--n", type=int); ap.add_argument("--mem-gb", type=float); ap.add_argument("cmd", nargs=argparse.REMAINDER)
a = ap.parse_args(); cmd = [c for c in a.cmd if c != "--"]
cap = int(a.mem_gb * 2**30)

def pump(i, pipe):
    for line in pipe:
        sys.stdout.write(f"w{i}| {line}"); sys.stdout.flush()

procs, ths = [], []
for i in range(a.n):
    env = dict(os.environ, RANK=str(i), WORLD_SIZE=str(a.n), LOCAL_RANK=str(i), MASTER_ADDR="127.0.0.1", MASTER_PORT="48121")
    p = subprocess.Popen([sys.executable] + cmd, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                         preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (cap, cap)))
    t = threading.Thread(target=pump, args=(i, p.stdout), daemon=True); t.start(); procs.append(p); ths.append(t)
print(f"launcher: {a.n} workers, limit {a.mem_gb:.1f} GiB each")
rc = 0
while any(p.poll() is None for p in procs):
    bad = [(i, p.returncode) for i, p in enumerate(procs) if p.poll() not in (None, 0)]
    if bad and not rc:
        rc = bad[0][1]; print(f"launcher: worker {bad[0][0]} ended with status {rc}, stopping the others"); time.sleep(2)
        for p in procs:
            if p.poll() is None: p.terminate()
    time.sleep(0.3)
for t in ths: t.join(2)
rc = rc or next((p.returncode for p in procs if p.returncode), 0)
print("launcher: exit", rc); sys.exit(1 if rc else 0)
