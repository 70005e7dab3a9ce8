import argparse, os, torch, torch.nn as nn, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
def get_args():
    p = argparse.ArgumentParser(); p.add_argument("--out"); p.add_argument("--save-every", type=int); p.add_argument("--iters", type=int, default=100)
    return p.parse_args()
def save_checkpoint(path, model, opt, it):
    torch.save({"model": model.module.state_dict(), "opt": opt.state_dict(), "iter": it}, path)
    print(f"  saved checkpoint {path} ({os.path.getsize(path)/2**20:.2f} MiB)", flush=True)
def main():
    a = get_args(); dist.init_process_group("gloo"); r = dist.get_rank(); torch.manual_seed(r)
    model = DDP(nn.Sequential(nn.Embedding(300, 64), nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 300))); opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for it in range(1, a.iters + 1):
        x = torch.randint(0, 300, (8, 33))
        loss = nn.functional.cross_entropy(model(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten()); opt.zero_grad(); loss.backward(); opt.step()
        if r == 0 and it % 5 == 0: print(f" iteration {it:6d}/{a.iters} | lm loss: {loss.item():.5E}", flush=True)
        if r == 0 and it % a.save_every == 0: save_checkpoint(os.path.join(a.out, f"iter_{it:07d}.pt"), model, opt, it)
    dist.destroy_process_group()
main()
