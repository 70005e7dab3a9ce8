import os, time
from datetime import timedelta
import torch
import torch.nn as nn
import torch.distributed as dist

R, W = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])

def say(*a):
    print(time.strftime("%H:%M:%S"), *a)

class Bigram(nn.Module):
    def __init__(self, v, d=48):
        super().__init__()
        self.emb = nn.Embedding(v, d)
        self.out = nn.Linear(d, v)
    def forward(self, x):
        return self.out(self.emb(x))

def average_grads(model):
    # ein grosser Puffer statt vieler kleiner Aufrufe
    flat = torch.cat([p.grad.reshape(-1) for p in model.parameters()])
    dist.all_reduce(flat)
    flat /= W
    o = 0
    for p in model.parameters():
        n = p.numel()
        p.grad.copy_(flat[o:o + n].view_as(p)); o += n

def main():
    say(f"worker {R} von {W}, pid {os.getpid()}")
    toks = open(f"shards/part{R}.txt", encoding="utf-8").read().split()
    vocab = {w: i for i, w in enumerate(sorted(set(toks)))}
    say(f"Teil {R}: {len(toks)} Wörter, Vokabular {len(vocab)}")
    ids = torch.tensor([vocab[t] for t in toks])
    dist.init_process_group("gloo", timeout=timedelta(seconds=15))
    say("Prozessgruppe bereit")
    torch.manual_seed(0)
    model = Bigram(len(vocab))
    opt = torch.optim.SGD(model.parameters(), lr=2.0)
    say("starte Training")
    for step in range(200):
        i = torch.randint(0, len(ids) - 1, (128,))
        loss = nn.functional.cross_entropy(model(ids[i]), ids[i + 1])
        opt.zero_grad(); loss.backward()
        average_grads(model)
        opt.step()
        if step % 10 == 0:
            say(f"Schritt {step:4d} Verlust {loss.item():.4f}")
    say("fertig")

main()
