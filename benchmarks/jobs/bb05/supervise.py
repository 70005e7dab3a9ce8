import logging, os, subprocess, sys, time
logging.basicConfig(level=logging.INFO, format="%(asctime)s supervisor[%(process)d] %(levelname)s %(message)s")
N = 3
ps = {}
for r in range(N):
    env = dict(os.environ, RANK=str(r), WORLD_SIZE=str(N), MASTER_ADDR="127.0.0.1", MASTER_PORT="48417")
    ps[r] = subprocess.Popen([sys.executable, "worker.py"], env=env, stderr=open(f"logs/worker-{r}.log", "w"))
    open(f"run/{r}.pid", "w").write(str(ps[r].pid))
    logging.info("worker %d started, pid %d", r, ps[r].pid)
bad = 0
while ps:
    for r, p in list(ps.items()):
        rc = p.poll()
        if rc is not None:
            del ps[r]
            logging.log(logging.ERROR if rc else logging.INFO, "worker %d (pid %d) finished with returncode %d", r, p.pid, rc)
            bad = bad or rc
    time.sleep(0.05)
logging.info("all workers gone")
sys.exit(1 if bad else 0)
