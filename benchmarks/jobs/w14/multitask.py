import argparse, os, sys
os.environ["RANK"] = os.environ["OMPI_COMM_WORLD_RANK"]; os.environ["WORLD_SIZE"] = os.environ["OMPI_COMM_WORLD_SIZE"]
import torch, torch.distributed as dist, torch.nn as nn, torch.nn.functional as F
ap = argparse.ArgumentParser(); ap.add_argument("--langs"); langs = ap.parse_args().langs.split(",")
dist.init_process_group("gloo")
r = dist.get_rank(); lang = langs[r]


class MT(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(3000, 64)
        self.gru = nn.GRU(64, 64, batch_first=True)
        self.heads = nn.ModuleDict({l: nn.Linear(64, 12) for l in langs})
        self.lid = nn.Linear(64, len(langs))

    def forward(self, x, l):
        h = self.gru(self.emb(x))[0][:, -1]
        return self.heads[l](h), self.lid(h)


n = {"de": 9120, "fr": 8844, "pl": 5010, "cs": 4873, "sv": 1301}[lang]
torch.manual_seed(40 + r)
print(f"{r}:{lang} {n} sentences, {n // 32} batches, seed {40 + r}")
if n < 2000:
    print(f"{r}:{lang} low-resource language, oversampling x{9120 // n}")
model = nn.parallel.DistributedDataParallel(MT())
opt = torch.optim.Adam(model.parameters(), 1e-3)
for step in range(200):
    x = torch.randint(0, 3000, (32, 20)); y = torch.randint(0, 12, (32,))
    logits, lid = model(x, lang)
    loss = F.cross_entropy(logits, y) + 0.1 * F.cross_entropy(lid, torch.full((32,), r))
    opt.zero_grad(); loss.backward(); opt.step()
    print(f"{r}:{lang} step {step} loss {loss.item():.4f}")
