"""Starts the ranks; when one dies the group is started again (at most 3 times)."""
import json, os, subprocess, sys, time
def ev(**k): print(json.dumps({"src": "supervisor", **k}), flush=True)
for attempt in range(1, 4):
    ps = [subprocess.Popen([sys.executable, "rank.py"], env=dict(os.environ, RANK=str(i), WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(47222 + attempt), ATTEMPT=str(attempt))) for i in range(2)]
    ev(event="started", attempt=attempt, pids=[p.pid for p in ps])
    while any(p.poll() is None for p in ps) and not any(p.poll() for p in ps): time.sleep(0.2)
    if any(p.poll() for p in ps):
        for i, p in enumerate(ps):
            if p.poll(): ev(event="rank_failed", level="critical", rank=i, returncode=p.returncode)
        time.sleep(1)
        for p in ps:
            if p.poll() is None: p.kill()
        ev(event="group_down", level="error", returncodes=[p.wait() for p in ps]); continue
    ev(event="completed", attempt=attempt); sys.exit(0)
ev(event="gave_up", level="critical"); sys.exit(1)
