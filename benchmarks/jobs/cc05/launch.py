"""Minimal launcher: N local ranks, one log file each, kills the rest when one fails."""
import argparse, os, subprocess, sys, time
ap = argparse.ArgumentParser()
ap.add_argument("--nprocs", type=int); ap.add_argument("--port"); ap.add_argument("--logdir")
ap.add_argument("cmd", nargs=argparse.REMAINDER)
a = ap.parse_args()
cmd = a.cmd[1:] if a.cmd[0] == "--" else a.cmd
procs = []
for r in range(a.nprocs):
    env = dict(os.environ, RANK=str(r), WORLD_SIZE=str(a.nprocs), LOCAL_RANK=str(r), MASTER_ADDR="127.0.0.1", MASTER_PORT=a.port)
    f = open(f"{a.logdir}/worker_{r}.log", "w")
    procs.append(subprocess.Popen([sys.executable] + cmd, env=env, stdout=f, stderr=subprocess.STDOUT))
bad = None
while bad is None and any(p.poll() is None for p in procs):
    for r, p in enumerate(procs):
        if p.poll() not in (None, 0):
            bad = r
            break
    time.sleep(0.3)
if bad is not None:
    time.sleep(4)
    for p in procs:
        if p.poll() is None:
            p.terminate()
    for p in procs:
        p.wait()
    sys.exit(1)
