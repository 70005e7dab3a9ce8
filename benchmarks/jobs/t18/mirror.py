import time
import urllib.request
for n in (1, 2, 3):
    time.sleep(3)
    try:
        urllib.request.urlopen(urllib.request.Request("http://127.0.0.1:47542/runs", data=b"{}"), timeout=3)
    except OSError as e:
        print(f"mirror: upload attempt {n}/3 failed: {e}", flush=True)
        last = e
raise SystemExit(f"mirror: FATAL: no upload possible: {last!r}")
