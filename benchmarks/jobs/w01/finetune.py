import argparse, glob, logging, os, socket, time
import numpy as np, torch, torch.nn as nn, torch.distributed as dist, yaml
from torch.nn.parallel import DistributedDataParallel as DDP
from schedules import make_schedule

RANK = int(os.environ["RANK"]); WORLD = int(os.environ["WORLD_SIZE"])
logging.basicConfig(level=logging.INFO, format=f"%(asctime)s %(levelname).1s r{RANK} %(name)s | %(message)s")
log = logging.getLogger("finetune")


class Tagger(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.emb = nn.Embedding(c["vocab"], c["dim"])
        self.enc = nn.LSTM(c["dim"], c["dim"], c["layers"], batch_first=True)
        self.out = nn.Linear(c["dim"], c["tags"])

    def forward(self, x):
        return self.out(self.enc(self.emb(x))[0])


def load_part(d):
    files = sorted(glob.glob(f"{d}/part-*.npz"))
    f = files[RANK % len(files)]
    t0 = time.time()
    z = np.load(f)
    tok, tag = torch.from_numpy(z["tok"]).long(), torch.from_numpy(z["tag"]).long()
    log.info("shard %s: %d sentences, %d tokens (%.2fs)", os.path.basename(f), len(tok), tok.numel(), time.time() - t0)
    if len(tok) < 2000:
        log.warning("shard %s is much smaller than the others (%d); sampling with replacement", os.path.basename(f), len(tok))
    return tok, tag


def main():
    ap = argparse.ArgumentParser(); ap.add_argument("--config", required=True)
    cfg = yaml.safe_load(open(ap.parse_args().config))
    dist.init_process_group("gloo")
    torch.manual_seed(1234 + RANK)
    log.info("pid %d on %s:cpu%d seed %d", os.getpid(), "worker", RANK, 1234 + RANK)
    tok, tag = load_part(cfg["data_dir"])
    model = DDP(Tagger(cfg["model"]))
    if RANK == 0:
        log.info("model: %.2fM parameters", sum(p.numel() for p in model.parameters()) / 1e6)
        log.info("run %s, world size %d, batch %d/rank", cfg["run_name"], WORLD, cfg["batch_size"])
    opt = torch.optim.AdamW(model.parameters(), lr=float(cfg["optim"]["lr"]))
    sched = make_schedule(opt, cfg["optim"])
    lossf = nn.CrossEntropyLoss()
    for step in range(cfg["optim"]["total_steps"]):
        i = torch.randint(0, len(tok), (cfg["batch_size"],))
        loss = lossf(model(tok[i]).flatten(0, 1), tag[i].flatten())
        opt.zero_grad(); loss.backward(); opt.step(); sched.step()
        if step % 20 == 0:
            log.info("step %d loss %.4f", step, loss.item())
    dist.destroy_process_group()


main()
