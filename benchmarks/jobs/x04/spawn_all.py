"""Start one copy of --entry per host name, tag the output, stop everything when one of them fails."""
import argparse, os, subprocess, sys, threading, time

ap = argparse.ArgumentParser()
ap.add_argument("--entry")
ap.add_argument("--env-dir")
ap.add_argument("--port")
ap.add_argument("hosts", nargs="+")
args = ap.parse_args()


def env_of(h):
    e = dict(os.environ, OMP_NUM_THREADS="1")
    for line in open(os.path.join(args.env_dir, h + ".env")):
        line = line.strip()
        if line and line[0] != "#":
            k, v = line.split("=", 1)
            e[k] = v
    return e


def pump(h, stream):
    for line in stream:
        print("%8s : %s" % (h, line.rstrip("\n")), flush=True)


procs, threads = {}, []
for i, h in enumerate(args.hosts):
    e = env_of(h)
    e.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=args.port, RANK=str(i), WORLD_SIZE=str(len(args.hosts)))
    p = subprocess.Popen([sys.executable, args.entry], env=e, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    procs[h] = p
    t = threading.Thread(target=pump, args=(h, p.stdout))
    t.start()
    threads.append(t)
t_bad = None
while any(p.poll() is None for p in procs.values()):
    if t_bad is None and any(p.poll() for p in procs.values()):
        t_bad = time.time()
    if t_bad and time.time() - t_bad > 6:
        for p in procs.values():
            if p.poll() is None:
                p.terminate()
    time.sleep(0.3)
for t in threads:
    t.join()
bad = [h for h, p in procs.items() if p.returncode]
print("spawn_all: %d of %d hosts failed" % (len(bad), len(procs)))
sys.exit(1 if bad else 0)
