"""Tiny launcher: starts N ranks, watches the progress file, asks for stacks when nothing moves."""
import argparse, os, signal, subprocess, sys, threading, time

ap = argparse.ArgumentParser()
ap.add_argument("--np", type=int)
ap.add_argument("--stall", type=float)
ap.add_argument("cmd", nargs="+")
a = ap.parse_args()
last = time.time()
lock = threading.Lock()


def pump(r, p):
    global last
    for line in p.stdout:
        if b"it=" in line:
            last = time.time()
        with lock:
            sys.stdout.write(f"<{r}> {line.decode(errors='replace')}")
            sys.stdout.flush()


procs, pumps = [], []
for r in range(a.np):
    env = dict(os.environ, RANK=str(r), WORLD_SIZE=str(a.np), MASTER_ADDR="127.0.0.1", MASTER_PORT="48303")
    p = subprocess.Popen(a.cmd, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    t = threading.Thread(target=pump, args=(r, p)); t.start()
    procs.append(p); pumps.append(t)
time.sleep(8)
while any(p.poll() is None for p in procs):
    time.sleep(0.5)
    if time.time() - last > a.stall:
        print(f"supervise: no iteration finished for {time.time()-last:.0f}s, collecting stacks", flush=True)
        for r, p in enumerate(procs):
            print(f"supervise: ---- SIGUSR1 -> rank {r} (pid {p.pid})", flush=True)
            p.send_signal(signal.SIGUSR1)
            time.sleep(1)
        print("supervise: giving up, killing the job", flush=True)
        for p in procs:
            p.kill()
        break
for p in procs:
    p.wait()
for t in pumps:
    t.join()
print("supervise: exit codes", [p.returncode for p in procs])
sys.exit(max(abs(p.returncode) for p in procs) and 1)
