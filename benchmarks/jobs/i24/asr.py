import argparse, logging, os, torch, torch.nn as nn, torch.distributed as dist, torch.multiprocessing as mp
LIM = {"clean": .30, "other": .25, "noisy": .20, "phone": .9}
def run(rank, n):
    logging.basicConfig(level=logging.DEBUG, format="%(levelname).1s%(asctime)s %(process)d %(filename)s:%(lineno)d] " + f"r{rank} %(message)s", datefmt="%m%d %H:%M:%S")
    os.environ["MASTER_ADDR"] = "127.0.0.1"; os.environ["MASTER_PORT"] = "41128"; dist.init_process_group("gloo", rank=rank, world_size=n)
    net = nn.parallel.DistributedDataParallel(nn.Linear(20, 6)); opt = torch.optim.SGD(net.parameters(), .5); torch.manual_seed(rank); proj = torch.randn(20, 6, generator=torch.Generator().manual_seed(0))
    for s in range(30):
        x = torch.randn(24, 20); l = nn.functional.cross_entropy(net(x), (x @ proj).argmax(1)); opt.zero_grad(); l.backward(); opt.step()
        if s % 6 == 0 and rank == 0: logging.info("update %d ctc %.3f", s, l.item())
    fails = []
    for k, (name, lim) in enumerate(LIM.items()):
        x = torch.randn(300, 20); noise = x + torch.randn(300, 20) * k * .5
        e = (net.module(noise).argmax(1) != (x @ proj).argmax(1)).float().mean(); dist.all_reduce(e); e = e.item() / n
        if rank == 0:
            (logging.error if e > lim else logging.info)("set=%s errors=%d wer=%.3f limit=%.2f %s", name, e * 900, e, lim, "FAILED" if e > lim else "passed")
            if e > lim: fails.append(name)
    if rank == 0:
        if fails: logging.fatal("acceptance FAILED on %s - this model will not be promoted, the old one stays in production", fails)
        torch.save(net.module.state_dict(), "asr.pt"); logging.info("artifact asr.pt (%d bytes) registered as candidate", os.path.getsize("asr.pt"))
    dist.destroy_process_group()
if __name__ == "__main__":
    p = argparse.ArgumentParser(); p.add_argument("--nproc", type=int); mp.spawn(run, (p.parse_args().nproc,), nprocs=3)
