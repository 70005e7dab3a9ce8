import subprocess, sys, threading, time, yaml
procs = yaml.safe_load(open(sys.argv[1])); done = threading.Event(); lock = threading.Lock(); live = {}; stat = {}
def say(n, s):
    with lock: print(f"{time.strftime('%H:%M:%S')} {n:<10s}| {s}", flush=True)
def run(p):
    while not done.is_set():
        c = live[p["name"]] = subprocess.Popen(p["cmd"].split(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        say("supervisor", f"{p['name']} started")
        for l in c.stdout: say(p["name"], l.rstrip())
        rc = c.wait(); stat.setdefault(p["name"], []).append(rc)
        if not p["restart"]: done.set(); return
        if not done.is_set(): say("supervisor", f"{p['name']} DIED with code {rc}, restart"); time.sleep(.5)
ts = [threading.Thread(target=run, args=(p,)) for p in procs]
[t.start() for t in ts]; done.wait()
for n, c in live.items(): c.poll() is None and c.terminate()
[t.join() for t in ts]
for n, c in stat.items(): say("supervisor", f"{n}: exit codes {c}")
say("tracker", "run i-42 synced. Bye, see you next time!")
sys.exit(stat["trainer"][0])
