import argparse
import os
import time

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP

RANK = int(os.environ["OMPI_COMM_WORLD_RANK"])
WORLD = int(os.environ["OMPI_COMM_WORLD_SIZE"])


def say(msg):
    print(f"[{time.strftime('%H:%M:%S')}][r{RANK}/{WORLD}] {msg}", flush=True)


class Encoder(nn.Module):
    def __init__(self, h):
        super().__init__()
        self.tok = nn.Embedding(24, h)
        self.pos = nn.Embedding(512, h)
        layer = nn.TransformerEncoderLayer(h, 4, 4 * h, batch_first=True, dropout=0.0)
        self.enc = nn.TransformerEncoder(layer, 3)
        self.out = nn.Linear(h, 24)

    def forward(self, x):
        return self.out(self.enc(self.tok(x) + self.pos(torch.arange(x.shape[1]))))


def batches(path, bs):
    aa = {c: i + 4 for i, c in enumerate("ACDEFGHIKLMNPQRSTVWY")}
    seqs = [[aa[c] for c in l.strip()] for l in open(path)]
    for i in range(0, len(seqs), bs):
        chunk = seqs[i:i + bs]
        n = max(map(len, chunk))
        yield torch.tensor([s + [0] * (n - len(s)) for s in chunk])


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=1)
    ap.add_argument("--hidden", type=int, default=128)
    ap.add_argument("--batch-size", type=int, default=6)
    args = ap.parse_args()
    torch.manual_seed(0)
    dist.init_process_group("gloo", rank=RANK, world_size=WORLD)
    model = DDP(Encoder(args.hidden))
    opt = torch.optim.AdamW(model.parameters(), lr=3e-4)
    # length bucketing: every rank keeps its own bucket, so there is little padding
    path = f"bucket{RANK}.txt"
    say(f"pid {os.getpid()} reads {path}, {sum(p.numel() for p in model.parameters())/1e6:.2f}M parameters")
    step = 0
    for ep in range(args.epochs):
        for x in batches(path, args.batch_size):
            t0 = time.time()
            masked = x.clone()
            sel = (torch.rand(x.shape) < 0.15) & (x > 0)
            masked[sel] = 1
            logits = model(masked)
            loss = nn.functional.cross_entropy(logits[sel], x[sel])
            fwd = time.time() - t0
            loss.backward()
            opt.step()
            opt.zero_grad()
            step += 1
            if step % 5 == 0:
                say(f"epoch {ep} step {step} len {x.shape[1]} loss {loss.item():.3f} fwd {fwd*1e3:.0f}ms step {(time.time()-t0)*1e3:.0f}ms")
    dist.barrier()
    if RANK == 0:
        torch.save(model.module.state_dict(), "mlm.pt")
        say("saved mlm.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
