import argparse, os, pathlib, shlex, signal, subprocess, sys, time

ap = argparse.ArgumentParser()
ap.add_argument("--job"); ap.add_argument("--cmd"); ap.add_argument("--nproc", type=int)
ap.add_argument("--inbox"); ap.add_argument("--log")
a = ap.parse_args()
L = pathlib.Path(a.log)
qlog = open(L / "minq.log", "a", buffering=1)


def say(m):
    qlog.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} minq: {m}\n")


procs = []
say(f"job {a.job}: start, {a.nproc} slots, cmd: {a.cmd}")
for r in range(a.nproc):
    env = dict(os.environ, RANK=str(r), WORLD_SIZE=str(a.nproc), MASTER_ADDR="127.0.0.1", MASTER_PORT="47806")
    f = open(L / f"rank{r}.log", "w")
    procs.append(subprocess.Popen(shlex.split(a.cmd), env=env, stdout=f, stderr=subprocess.STDOUT))
    say(f"job {a.job}: slot {r} -> pid {procs[-1].pid}")
t0 = time.time()
todo = []
for p in sorted(pathlib.Path(a.inbox).glob("*.msg")):
    for line in open(p):
        d = dict(x.split("=", 1) for x in shlex.split(line)); todo.append((float(d.pop("at")), d))
while any(p.poll() is None for p in procs):
    while todo and time.time() - t0 > todo[0][0]:
        _, d = todo.pop(0)
        say(f"inbox: {d}")
        if d["op"] == "cancel" and d["job"] == a.job:
            say(f"job {a.job}: cancel requested by {d['user']}, SIGTERM to {len(procs)} processes")
            for p in procs:
                p.send_signal(signal.SIGTERM)
    time.sleep(0.2)
codes = [p.wait() for p in procs]
say(f"job {a.job}: end, exit codes {codes}")
sys.exit(0 if not any(codes) else 1)
