import glob, json, os, signal, sys, time
d, limit, pids = sys.argv[1], float(sys.argv[2]), [int(p) for p in sys.argv[3:]]


def say(**k):
    print(json.dumps({"ts": round(time.time(), 2), "svc": "health", **k}), flush=True)


time.sleep(8)
while True:
    time.sleep(2)
    age = {}
    for f in sorted(glob.glob(d + "/*")):
        try:
            j = json.load(open(f))
        except ValueError:
            continue
        age[j["rank"]] = (round(time.time() - j["t"], 1), j["step"], j["phase"])
    say(event="heartbeats", ages={str(r): v for r, v in age.items()})
    if all(v[2] == "done" for v in age.values()):
        break
    if all(v[0] > limit for v in age.values()):
        say(event="unhealthy", reason=f"no heartbeat within {limit:g}s", action="dump+terminate")
        for p in pids:
            os.kill(p, signal.SIGUSR2)
        time.sleep(2)
        for p in pids:
            os.kill(p, signal.SIGKILL)
        sys.exit(3)
