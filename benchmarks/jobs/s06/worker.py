import argparse, os, socket, datetime
import torch, torch.distributed as dist
ap = argparse.ArgumentParser(); ap.add_argument("--corpus"); ap.add_argument("--seed", type=int); a = ap.parse_args()
W, R = int(os.environ["WORLD_SIZE"]), int(os.environ["RANK"])
torch.manual_seed(a.seed)
docs = 12000
per = docs // W
print(f"corpus={a.corpus} docs {R*per}..{(R+1)*per-1} of {docs} seed={a.seed} pid={os.getpid()}", flush=True)
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=12))
print("connected", flush=True)
emb = torch.nn.Embedding(500, 32)
for it in range(100):
    idx = torch.randint(0, 500, (64,))
    loss = emb(idx).pow(2).mean(); loss.backward()
    dist.all_reduce(emb.weight.grad)
    with torch.no_grad(): emb.weight -= 0.1 * emb.weight.grad / W; emb.weight.grad = None
    if it % 25 == 0: print(f"iter {it} loss {loss.item():.4f}", flush=True)
dist.destroy_process_group()
