import argparse, json, torch, torch.nn as nn, torch.distributed as dist
ap = argparse.ArgumentParser()
ap.add_argument("--d_model", type=int); ap.add_argument("--heads", type=int); ap.add_argument("--lr", type=float); ap.add_argument("--out")
a = ap.parse_args()
dist.init_process_group("gloo")
torch.manual_seed(0)
class Block(nn.Module):
    def __init__(s):
        super().__init__()
        s.emb = nn.Embedding(50, a.d_model)
        s.att = nn.MultiheadAttention(a.d_model, a.heads, batch_first=True)
        s.out = nn.Linear(a.d_model, 50)
    def forward(s, x):
        h = s.emb(x); h = h + s.att(h, h, h, need_weights=False)[0]
        return s.out(h)
m = nn.parallel.DistributedDataParallel(Block())
o = torch.optim.AdamW(m.parameters(), lr=a.lr)
for step in range(20):
    x = torch.randint(0, 50, (8, 16))
    l = nn.functional.cross_entropy(m(x).flatten(0, 1), x.flatten())
    o.zero_grad(); l.backward(); o.step()
    if step % 5 == 4 and dist.get_rank() == 0: print(f"  step {step+1} loss {l.item():.4f}", flush=True)
dist.all_reduce(l.detach_())
if dist.get_rank() == 0: json.dump({"val_loss": l.item() / 2}, open(a.out, "w"))
dist.destroy_process_group()
