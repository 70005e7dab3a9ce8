import os, sys, time, logging, torch, torch.distributed as dist, torch.multiprocessing as mp
def run(rank, world, variant):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="4527")
    dist.init_process_group("gloo", rank=rank, world_size=world)
    open(f"pid.{rank}", "w").write(str(os.getpid())); f = open(f"steps.{rank}", "w", 1)
    w = torch.zeros(30)
    for s in range(60):
        x = torch.randn(64, 30); g = x.t() @ (x @ w - x.sum(1)) / 64
        try: dist.all_reduce(g)
        except RuntimeError: time.sleep(4); return
        w -= .05 * g; time.sleep(.4); print(f"{variant} | rank {rank} | step {s} | {(w-1).norm():.3f}"); f.write(f"{s}\n")
    dist.destroy_process_group()
if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="[driver] %(message)s")
    rc = 0
    try:
        mp.spawn(run, args=(3, "no-dropout"), nprocs=3)
    except mp.ProcessExitedException as e:
        logging.info("variant no-dropout: %s", e); rc = 1
    logging.info("collecting partial results ..."); time.sleep(.5)
    n = [sum(1 for _ in open(f"steps.{r}")) for r in range(3)]
    logging.info("steps per rank: %s", n)
    logging.info("temporary files removed, all processes joined")
    logging.info("Goodbye."); sys.exit(rc)
