import argparse
import os
import signal
import time

import psutil

ap = argparse.ArgumentParser()
ap.add_argument("--limit-mb", type=int)
ap.add_argument("--match")
a = ap.parse_args()
me = os.getsid(0)
print(f"memguard: limit {a.limit_mb} MiB per process", flush=True)
while True:
    for p in psutil.process_iter(["pid", "cmdline"]):
        try:
            c = p.info["cmdline"] or []
            if os.getsid(p.pid) not in (me, p.pid) or a.match not in " ".join(c) or "torchrun" in " ".join(c) or p.cwd() != os.getcwd():
                continue
            mb = p.memory_info().rss >> 20
            if mb > a.limit_mb:
                print(f"memguard: pid {p.pid} uses {mb} MiB (limit {a.limit_mb} MiB), kill -9", flush=True)
                p.send_signal(signal.SIGKILL)
        except (psutil.Error, ProcessLookupError):
            pass
    time.sleep(0.1)
