import logging, os, torch, torch.nn as nn, torch.distributed as dist, torch.multiprocessing as mp
STEPS = 40

def worker(rank, world):
    logging.basicConfig(format=f"%(asctime)s,rank{rank},%(levelname)s,%(message)s", level=logging.INFO, datefmt="%H:%M:%S")
    log = logging.getLogger()
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="4506")
    dist.init_process_group("gloo", rank=rank, world_size=world)
    torch.manual_seed(0)
    m = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 1))
    m = nn.parallel.DistributedDataParallel(m)
    opt = torch.optim.Adam(m.parameters(), 3e-3)
    scale, good, skipped = 2.0 ** 16, 0, 0
    g = torch.Generator().manual_seed(rank)
    for step in range(STEPS):
        x = torch.randn(16, 12, generator=g); y = x.sum(1, keepdim=True)
        if rank == 2 and step in (3, 4, 17): x[5] = x[5] / 0.0
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = (m(x).float() - y).pow(2).mean()
        opt.zero_grad(); (loss * scale).backward()
        norm = torch.nn.utils.clip_grad_norm_(m.parameters(), 1.0 * scale)
        if not torch.isfinite(norm):
            skipped += 1; scale /= 2
            log.error("step %d: gradient norm is %s (loss=%s), OVERFLOW! skipping step, reducing loss scale to %g", step, norm.item(), loss.item(), scale)
            continue
        for p in m.parameters(): p.grad /= scale
        opt.step()
        if step % 4 == 0 and rank == 0: log.info("step %d loss %.4f gnorm %.3f scale %g", step, loss.item(), norm.item() / scale, scale)
    if rank == 0:
        log.warning("%d of %d steps were skipped because of inf/nan", skipped, STEPS)
        torch.save(m.module.state_dict(), "model_final.pt")
        log.info("exported to %s", "model_final.pt")
    dist.barrier(); dist.destroy_process_group()

if __name__ == "__main__":
    mp.spawn(worker, args=(3,), nprocs=3)
