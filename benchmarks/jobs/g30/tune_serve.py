"""Train two LoRA-like heads, then smoke-test the checkpoints; tracker is optional."""
import faulthandler, os, subprocess, sys, time, warnings
class Tracker:
    def __init__(s, url): s.url, s.ok = url, False
    def start(s):
        import urllib.request
        for k in range(4):
            try: urllib.request.urlopen(s.url, timeout=1); s.ok = True; return
            except Exception as e: print(f"tracker: ERROR connecting to {s.url} (attempt {k+1}/4): {e}"); time.sleep(.5 * 2 ** k)
        print("tracker: giving up, run is kept offline in ./offline-runs/7f3a")
    def finish(s): print("tracker: Waiting for uploads... none.\ntracker: You can sync this run later with: tracker sync ./offline-runs/7f3a\ntracker: View run brave-lemur-12 offline. So long!")
t = Tracker("http://127.0.0.1:5000/api"); t.start()
for head in ("intent", "slot"):
    rc = subprocess.call(["torchrun", "--nproc-per-node", "2", "--master-port", "31780" if head == "intent" else "31781", "head.py", head])
    print(f"head {head}: rc {rc}")
    if rc: sys.exit(rc)
for head in ("intent", "slot"):
    for fast in ("1", "0"):
        rc = subprocess.call([sys.executable, "smoke.py", head, fast]); print(f"smoke test {head} mmap={fast}: {'ok' if rc == 0 else f'FAILED with {rc}'}")
        if rc == 0: break
    else: sys.exit(1)
t.finish()
