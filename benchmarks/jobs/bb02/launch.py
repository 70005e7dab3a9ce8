# Startet alle Ranks, wartet, und meldet den schlechtesten Exit-Code
import argparse, os, subprocess, sys
p = argparse.ArgumentParser(); p.add_argument("--ranks", type=int); a = p.parse_args()
os.makedirs("logs", exist_ok=True)
procs = []
for r in range(a.ranks):
    env = dict(os.environ, RANK=str(r), WORLD_SIZE=str(a.ranks), MASTER_ADDR="127.0.0.1", MASTER_PORT="48405")
    f = open(f"logs/rank_{r}.log", "w")
    procs.append(subprocess.Popen([sys.executable, "trainer.py"], env=env, stdout=f, stderr=subprocess.STDOUT))
sys.exit(max(abs(q.wait()) for q in procs))
