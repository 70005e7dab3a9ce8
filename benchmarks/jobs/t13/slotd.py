"""slotd: Mini-Warteschlange. Führt einen Job in seinem Zeitfenster aus."""
import argparse
import os
import signal
import subprocess
import sys
import time

ap = argparse.ArgumentParser()
ap.add_argument("--queue")
ap.add_argument("--wall", type=int)
ap.add_argument("cmd", nargs="+")
a = ap.parse_args()


def note(m):
    print(f"slotd[{a.queue}] {time.strftime('%b %d %H:%M:%S')} {m}", flush=True)


job = subprocess.Popen(a.cmd, start_new_session=True)
note(f"job 88213 started: {' '.join(a.cmd)} (wall limit {a.wall}s)")
try:
    rc = job.wait(a.wall)
except subprocess.TimeoutExpired:
    note(f"job 88213 exceeded wall limit {a.wall}s, sending SIGTERM to process group {job.pid}")
    os.killpg(job.pid, signal.SIGTERM)
    try:
        job.wait(5)
    except subprocess.TimeoutExpired:
        note("job 88213 still alive, SIGKILL")
        os.killpg(job.pid, signal.SIGKILL)
        job.wait()
    note("job 88213 state TIMEOUT")
    sys.exit(140)
note(f"job 88213 state {'COMPLETED' if rc == 0 else 'FAILED'} rc {rc}")
sys.exit(rc)
