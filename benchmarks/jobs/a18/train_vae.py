import argparse, torch, torch.nn as nn
import torch.distributed as dist

class VAE(nn.Module):
    def __init__(self, latent):
        super().__init__()
        self.enc = nn.Linear(64, 2 * latent); self.dec = nn.Linear(latent, 64)

def get_args():
    ap = argparse.ArgumentParser(); ap.add_argument("--latent", type=int, default=8); ap.add_argument("--steps", type=int, default=10)
    return ap.parse_args()

def init():
    dist.init_process_group(backend="gloo", init_method="env://")
    return dist.get_rank()

if __name__ == "__main__":
    args = get_args()
    print("args:", vars(args), flush=True)
    rank = init()
    model = nn.parallel.DistributedDataParallel(VAE(args.latent))
    print("rank", rank, "ready")
