import argparse, torch, torch.distributed as dist
from common import setup, load
p = argparse.ArgumentParser(); p.add_argument("--data"); p.add_argument("--ckpt"); a = p.parse_args(); r, w = setup()
m = torch.nn.Linear(5, 1); m.load_state_dict(torch.load(a.ckpt)); x, y = load(a.data, r, w)
l = (m(x) - y).pow(2).mean(); dist.all_reduce(l); print(f"rank {r} dev mse {l.item()/w:.4f}"); dist.destroy_process_group()
