# フリート管理: ワーカーを起動し、落ちたら再起動する (同期はファイル経由の平均化)
import argparse
import os
import signal
import subprocess
import sys
import time

import psutil

ap = argparse.ArgumentParser()
ap.add_argument("--workers", type=int)
ap.add_argument("--rounds", type=int)
a = ap.parse_args()
os.makedirs("w", exist_ok=True)
LIMIT = 700 << 20


def p(level, m):
    print(f"{time.strftime('%H:%M:%S')} [{level:^5}] fleet | {m}", flush=True)


def spawn(i):
    q = subprocess.Popen([sys.executable, "worker.py", str(i), str(a.workers), str(a.rounds)])
    p("INFO", f"worker {i} started, pid {q.pid}")
    return q


ws = {i: spawn(i) for i in range(a.workers)}
restarts = dict.fromkeys(ws, 0)
done = set()
while len(done) < a.workers:
    time.sleep(0.1)
    for i, q in list(ws.items()):
        if i in done:
            continue
        rc = q.poll()
        if rc is None:
            try:
                rss = psutil.Process(q.pid).memory_info().rss
            except psutil.Error:
                continue
            if rss > LIMIT:
                p("WARN", f"worker {i} uses {rss >> 20} MiB (limit {LIMIT >> 20}), killing pid {q.pid}")
                q.send_signal(signal.SIGKILL)
            continue
        if rc == 0:
            done.add(i)
            p("INFO", f"worker {i} finished")
            continue
        p("ERROR", f"worker {i} (pid {q.pid}) died with exit code {rc}")
        restarts[i] += 1
        if restarts[i] > 3:
            p("FATAL", f"worker {i} keeps dying")
            for q in ws.values():
                q.kill()
            sys.exit(1)
        ws[i] = spawn(i)
p("INFO", f"all {a.workers} workers finished, restarts {restarts}")
