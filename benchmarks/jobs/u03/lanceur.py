"""Petit lanceur maison: N processus locaux, journaux dans logs/."""
import argparse, os, subprocess, sys, time

ap = argparse.ArgumentParser()
ap.add_argument("-n", type=int, default=2)
ap.add_argument("--port", type=int, default=47604)
ap.add_argument("cmd", nargs=argparse.REMAINDER)
a = ap.parse_args()
main_log = open("logs/lanceur.log", "w", buffering=1)


def note(msg):
    main_log.write(time.strftime("%H:%M:%S ") + msg + "\n")


procs = []
for r in range(a.n):
    env = dict(os.environ, RANK=str(r), WORLD_SIZE=str(a.n), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(a.port))
    out = open(f"logs/rang{r}.log", "w")
    procs.append(subprocess.Popen([sys.executable] + a.cmd, env=env, stdout=out, stderr=subprocess.STDOUT))
    note(f"rang {r} demarre, pid {procs[-1].pid}")

codes = {}
while len(codes) < a.n:
    for r, p in enumerate(procs):
        if r not in codes and p.poll() is not None:
            codes[r] = p.returncode
            note(f"rang {r} termine, code {p.returncode}")
    time.sleep(0.1)
note(f"tous termines, codes {codes}")
sys.exit(max(abs(c) for c in codes.values()))
