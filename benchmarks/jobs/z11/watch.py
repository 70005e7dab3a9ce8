"""parent: starts the workers and looks after their heartbeats"""
import json, os, signal, subprocess, sys, time

N, STALE = 3, 10.0
os.makedirs("beats", exist_ok=True)
ps = [subprocess.Popen([sys.executable, "worker.py"],
                       env=dict(os.environ, RANK=str(r), WORLD_SIZE=str(N), MASTER_ADDR="127.0.0.1", MASTER_PORT="48221")) for r in range(N)]


def log(*a):
    print(time.strftime("watch %H:%M:%S"), *a, flush=True)


def last(r):
    try:
        return json.load(open(f"beats/{r}.json"))
    except OSError:
        return {"t": time.time(), "step": 0, "where": "start"}


while True:
    time.sleep(1)
    if all(p.poll() is not None for p in ps):
        break
    now = time.time()
    old = {r: now - last(r)["t"] for r in range(N) if ps[r].poll() is None}
    if max(old.values()) > STALE:
        for r in sorted(old):
            b = last(r)
            log(f"worker {r}: last heartbeat {old[r]:.1f} s ago, step {b['step']}, {b['where']}")
        log("heartbeats missing, dumping stacks")
        for p in ps:
            p.send_signal(signal.SIGUSR1); time.sleep(0.5)
        log("stopping the run")
        for p in ps:
            p.kill()
        break
codes = [p.wait() for p in ps]
log("exit codes", codes)
sys.exit(1 if any(codes) else 0)
