import argparse, logging, math, os, random, time
import requests
import torch, torch.distributed as dist, torch.multiprocessing as mp
from torch import nn


class Tracker:
    def __init__(self, url, log):
        self.url, self.log, self.online, self.f = url, log, True, open("metrics.jsonl", "a")

    def put(self, **kw):
        self.f.write(repr(kw) + "\n")
        if self.online:
            try:
                requests.post(self.url + "/api/log", json=kw, timeout=2)
            except requests.RequestException:
                self.log.exception("tracker %s does not answer, going on offline (metrics.jsonl can be uploaded later)", self.url)
                self.online = False


def utterance(g, rng, log):
    for attempt in range(4):
        if rng.random() < 0.03:
            log.warning("read of shard %d failed (attempt %d/4): [Errno 5] Input/output error, retry in 0.05s", rng.randrange(64), attempt + 1)
            time.sleep(0.05)
            continue
        n = rng.randrange(20, 60)
        tgt = rng.randrange(3, 14) if rng.random() > 0.015 else n + 5     # a wrong transcript, longer than the audio
        return torch.randn(n, 40, generator=g), torch.randint(1, 30, (tgt,), generator=g)
    raise OSError("shard unreadable")


def main(rank, a):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="48596")
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s R{rank} %(levelname)s | %(message)s", datefmt="%d.%m. %H:%M:%S")
    log = logging.getLogger("ctc")
    dist.init_process_group("gloo", rank=rank, world_size=a.world)
    torch.manual_seed(0)
    net = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(40, 96), nn.ReLU(), nn.Linear(96, 30)))
    opt = torch.optim.Adam(net.parameters(), 2e-3)
    ctc, g, rng = nn.CTCLoss(), torch.Generator().manual_seed(rank), random.Random(rank)
    tr = Tracker(a.tracker, log) if rank == 0 else None
    skipped = 0
    for step in range(1, a.steps + 1):
        x, y = zip(*(utterance(g, rng, log) for _ in range(6)))
        lens = torch.tensor([len(t) for t in x])
        lp = net(nn.utils.rnn.pad_sequence(x)).log_softmax(-1)
        loss = ctc(lp, torch.cat(y), lens, torch.tensor([len(t) for t in y]))
        opt.zero_grad(); loss.backward()
        norm = nn.utils.clip_grad_norm_(net.parameters(), 5.0)
        if not math.isfinite(loss.item()) or not torch.isfinite(norm):
            log.error("step %d: loss %s, grad norm %s, step skipped", step, loss.item(), norm.item())
        ok = torch.isfinite(norm)
        if ok:
            opt.step()
        else:
            skipped += 1
        if step % 25 == 0:
            log.info("step %d/%d loss %.3f grad norm %.3f skipped so far %d", step, a.steps, loss.item(), norm.item(), skipped)
            if tr:
                tr.put(step=step, loss=loss.item())
    dist.barrier()
    if rank == 0:
        os.makedirs("out", exist_ok=True)
        torch.save(net.module.state_dict(), "out/ctc.pt")
        log.info("training finished: %d steps, %d of them skipped, model in out/ctc.pt", a.steps, skipped)
    dist.destroy_process_group()


if __name__ == "__main__":
    p = argparse.ArgumentParser(); p.add_argument("--world", type=int); p.add_argument("--steps", type=int); p.add_argument("--tracker")
    mp.spawn(main, (p.parse_args(),), nprocs=4)
