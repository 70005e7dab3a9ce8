import logging, os, sys, time
import torch, torch.nn as nn
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

VOCAB = 512

def load_split(path):
    rows = []
    for line in open(path):
        rows.append([int(t) for t in line.split()])
    return rows

class BigramLM(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, 64)
        self.out = nn.Linear(64, VOCAB)
    def forward(self, x):
        return self.out(self.emb(x))

def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(1)
    rows = load_split("data/train.txt")
    mine = rows[rank::world]
    print(f"rank {rank}: data ready, {len(mine)} sequences")
    model = DDP(BigramLM())
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for epoch in range(6):
        tot = 0.0
        for i in range(0, 64, 8):
            b = torch.tensor(mine[i + epoch * 64:i + epoch * 64 + 8])
            logits = model(b[:, :-1])
            loss = nn.functional.cross_entropy(logits.reshape(-1, VOCAB), b[:, 1:].reshape(-1))
            opt.zero_grad(); loss.backward(); opt.step()
            tot += loss.item()
            time.sleep(0.05)
        print(f"rank {rank}: epoch {epoch} done, loss {tot / 8:.4f}")
    print(f"rank {rank}: all epochs done")
    dist.destroy_process_group()

if __name__ == "__main__":
    try:
        main()
    except Exception:
        logging.exception("main() of rank %s left with an exception", os.environ["RANK"])
        sys.exit(1)
