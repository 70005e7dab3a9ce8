import datetime, json, os, subprocess, sys, time
def ev(**k):
    print(json.dumps({"ts": datetime.datetime.now().isoformat(timespec="seconds"), "logger": "supervisor", **k}), flush=True)
cmd = sys.argv[sys.argv.index("--") + 1:]
for attempt in range(1, 6):
    env = dict(os.environ, MASTER_ADDR="127.0.0.1", MASTER_PORT=str(31720 + attempt), ATTEMPT=str(attempt))
    ev(level="INFO", event="launch", attempt=attempt, cmd=" ".join(cmd))
    t = time.time(); rc = subprocess.call(cmd, env=env)
    ev(level="INFO" if rc == 0 else "ERROR", event="exit", attempt=attempt, returncode=rc, seconds=round(time.time() - t, 1))
    if rc == 0:
        break
    time.sleep(1)
else:
    ev(level="CRITICAL", event="gave_up"); sys.exit(1)
ev(level="INFO", event="job_state", state="SUCCEEDED")
