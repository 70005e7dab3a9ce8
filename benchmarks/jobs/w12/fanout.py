"""fanout.py -n N --port P -- cmd...   start N ranks on this machine and wait for them"""
import os, subprocess, sys, threading, time
a = sys.argv[1:]
n = int(a[a.index("-n") + 1]); port = a[a.index("--port") + 1]; cmd = a[a.index("--") + 1:]
GRACE = 20
print(f"fanout: {n} x {' '.join(cmd)} (MASTER_PORT={port})", flush=True)


def pump(i, p):
    for line in p.stdout:
        sys.stdout.write(f"{i}| {line}"); sys.stdout.flush()


ps = []
for i in range(n):
    p = subprocess.Popen(cmd, env=dict(os.environ, RANK=str(i), LOCAL_RANK=str(i), WORLD_SIZE=str(n), MASTER_ADDR="127.0.0.1", MASTER_PORT=port),
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    t = threading.Thread(target=pump, args=(i, p)); t.start(); ps.append((p, t))
first = None
while any(p.poll() is None for p, _ in ps):
    bad = [i for i, (p, _) in enumerate(ps) if p.poll()]
    if bad and first is None:
        first = time.time(); print(f"fanout: rank(s) {bad} returned an error, giving the others {GRACE} s", flush=True)
    if first and time.time() - first > GRACE:
        print("fanout: ending", [i for i, (p, _) in enumerate(ps) if p.poll() is None], flush=True)
        for p, _ in ps:
            if p.poll() is None: p.terminate()
        first += 1e9
    time.sleep(0.2)
for p, t in ps:
    p.wait(); t.join()
rc = [p.returncode for p, _ in ps]
print("fanout: return codes", rc)
sys.exit(max(abs(c) for c in rc))
