import os, sys, time, torch, torch.distributed as dist, torch.multiprocessing as mp, signal
def loop(r, w):
    dist.init_process_group("gloo", init_method="tcp://127.0.0.1:31774", rank=r, world_size=w)
    m = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 2)); o = torch.optim.SGD(m.parameters(), .1)
    try:
        for s in range(2000):
            l = m(torch.randn(8, 8)).pow(2).mean(); o.zero_grad(); l.backward(); o.step(); time.sleep(.3)
            if r == 0: print(f"[{s+1}/2000] loss={l.item():.4f}")
            if s == 5: open(".step5", "w").close()
    except KeyboardInterrupt:
        print(f"rank {r}: KeyboardInterrupt at step {s}, leaving the training loop")
        if r == 0: torch.save(m.module.state_dict(), "interrupted.pt"); print("rank 0: saved interrupted.pt")
        sys.exit(130)
if __name__ == "__main__":
    ps = [mp.get_context("spawn").Process(target=loop, args=(r, 2)) for r in range(2)]
    [p.start() for p in ps]
    try: [p.join() for p in ps]
    except KeyboardInterrupt: print("^C: waiting for the workers"); [p.join(20) for p in ps]
    print("Thanks for using MiniTrainer, see you soon!"); sys.exit(130)
