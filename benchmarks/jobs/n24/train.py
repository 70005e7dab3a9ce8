import os, sys, time, faulthandler, warnings, torch, torch.distributed as dist
r, n = int(os.environ["OMPI_COMM_WORLD_RANK"]), int(os.environ["OMPI_COMM_WORLD_SIZE"])
dog = float(sys.argv[2]); dist.init_process_group("gloo", rank=r, world_size=n)
def rank_all_pairs(e):
    hits = 0
    t = time.time()
    while time.time() - t < 5: hits += int((e @ e.T).argmax().item() >= 0)
    return hits
m = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(64, 64)); o = torch.optim.Adam(m.parameters(), 1e-3)
for s in range(1, 31):
    faulthandler.dump_traceback_later(dog, file=sys.stderr)
    t0 = time.time(); x = torch.randn(16, 64); l = (m(x) - x).pow(2).mean(); o.zero_grad(); l.backward(); o.step()
    if s == 15 and r == 0: print("eval pairs", rank_all_pairs(torch.randn(300, 64)))
    dist.barrier(); faulthandler.cancel_dump_traceback_later()
    dt = time.time() - t0
    if dt > dog: warnings.warn(f"step {s} took {dt:.1f}s (> {dog}s): possible HANG or straggler")
    if r == 0 and s % 3 == 0: print(f"step {s}/30 loss {l.item():.4f} {dt*1000:.0f} ms")
dist.destroy_process_group()
