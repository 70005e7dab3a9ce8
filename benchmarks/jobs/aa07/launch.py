import os, signal, subprocess, sys, time
gpus = sys.argv[sys.argv.index("--gpus") + 1].split(",")
cmd = [sys.executable] + sys.argv[3:]
procs = []
for i, _ in enumerate(gpus):
    e = dict(os.environ, RANK=str(i), WORLD_SIZE=str(len(gpus)), MASTER_ADDR="127.0.0.1", MASTER_PORT="48307")
    procs.append(subprocess.Popen(cmd, env=e, stdin=subprocess.PIPE))


def stop(sig, _):
    print(f"[launch] signal {sig}: dumping the ranks and stopping", flush=True)
    for i, p in enumerate(procs):
        print(f"[launch] rank {i}:", flush=True)
        p.send_signal(signal.SIGUSR1)
        time.sleep(0.5)
    for p in procs:
        p.kill()
    sys.exit(1)


signal.signal(signal.SIGTERM, stop)
t0 = time.time()
while any(p.poll() is None for p in procs):
    time.sleep(1)
    if int(time.time() - t0) % 10 == 0:
        print(f"[launch] alive: {[i for i, p in enumerate(procs) if p.poll() is None]}", flush=True)
sys.exit(max(p.returncode for p in procs))
