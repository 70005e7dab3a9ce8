"""tiny launcher: python launch.py N script.py"""
import os, subprocess, sys, threading
n, script = int(sys.argv[1]), sys.argv[2:]
procs = []
lock = threading.Lock()
def pump(r, p):
    for line in p.stdout:
        with lock:
            sys.stdout.write(f"<{r}> {line}"); sys.stdout.flush()
for r in range(n):
    env = dict(os.environ, RANK=str(r), WORLD_SIZE=str(n), MASTER_ADDR="127.0.0.1", MASTER_PORT="47703")
    p = subprocess.Popen([sys.executable, "-W", "ignore"] + script, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    t = threading.Thread(target=pump, args=(r, p)); t.start()
    procs.append((p, t))
rc = 0
for p, t in procs:
    p.wait(); t.join()
    rc = rc or p.returncode
sys.exit(1 if rc else 0)
