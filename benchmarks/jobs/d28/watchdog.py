import os, signal, subprocess, sys, threading, time
limit, cmd = float(sys.argv[1]), sys.argv[2:]
for attempt in range(1, 4):
    print(f"watchdog: starting attempt {attempt}: {' '.join(cmd)}", flush=True)
    p = subprocess.Popen(cmd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
    last = [time.time()]
    def pump():
        for line in p.stdout:
            if "step" in line: last[0] = time.time()
            sys.stdout.write(line); sys.stdout.flush()
    t = threading.Thread(target=pump, daemon=True); t.start()
    while p.poll() is None:
        time.sleep(0.5)
        if time.time() - last[0] > limit:
            print(f"watchdog: no progress for {limit:.0f}s, job looks hung; killing process group {p.pid}", flush=True)
            os.killpg(p.pid, signal.SIGTERM); time.sleep(3)
            try: os.killpg(p.pid, signal.SIGKILL)
            except ProcessLookupError: pass
            p.wait(); break
    t.join(3)
    print(f"watchdog: attempt {attempt} ended with code {p.returncode}", flush=True)
    if p.returncode == 0: sys.exit(0)
print("watchdog: too many failures", flush=True); sys.exit(1)
