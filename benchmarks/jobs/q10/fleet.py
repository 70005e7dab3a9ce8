"""Tiny process launcher: prefixes the output of each process, stops all when one fails."""
import argparse, os, subprocess, sys, threading, time
ap = argparse.ArgumentParser(); ap.add_argument("-n", type=int); ap.add_argument("script"); a = ap.parse_args()
def pump(i, f):
    for line in f:
        sys.stdout.write(f"({i}) {line}"); sys.stdout.flush()
ps, ts = [], []
for i in range(a.n):
    e = dict(os.environ, RANK=str(i), WORLD_SIZE=str(a.n), MASTER_ADDR="127.0.0.1", MASTER_PORT="47210")
    p = subprocess.Popen([sys.executable, a.script], env=e, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    t = threading.Thread(target=pump, args=(i, p.stdout)); t.start(); ps.append(p); ts.append(t)
codes = [None] * a.n
while None in codes:
    time.sleep(0.2)
    codes = [p.poll() for p in ps]
    if any(codes):
        time.sleep(3)
        for p in ps:
            if p.poll() is None: p.terminate()
        codes = [p.wait() for p in ps]
for t in ts: t.join()
print("fleet: return codes", codes)
sys.exit(1 if any(codes) else 0)
