"""tokenisation pool: 4 workers, file by file; a dead worker is replaced (at most 5 times)"""
import os, signal, subprocess, sys, time

N = 4
env = lambda k: dict(os.environ, WORKER_RANK=str(k), WORKERS=str(N))
start = lambda k: subprocess.Popen([sys.executable, "tok.py"], env=env(k))
t0 = time.time()


def say(m):
    print(f"pool +{time.time() - t0:05.1f}s {m}", flush=True)


w = {k: start(k) for k in range(N)}
for k, p in w.items():
    say(f"worker {k} pid {p.pid}")
left, restarts = set(w), 0
while left:
    time.sleep(0.3)
    for k in sorted(left):
        rc = w[k].poll()
        if rc is None:
            continue
        if rc == 0:
            left.discard(k)
            say(f"worker {k} finished")
        else:
            why = f"killed by {signal.Signals(-rc).name}" if rc < 0 else f"exit code {rc}"
            restarts += 1
            if restarts > 5:
                say(f"ERROR worker {k} {why}; restart limit reached"); sys.exit(1)
            w[k] = start(k)
            say(f"WARNING worker {k} {why}; started again as pid {w[k].pid} (restart {restarts}/5)")
say(f"all files tokenised, {restarts} restart(s)")
