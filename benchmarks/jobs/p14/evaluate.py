import argparse
p = argparse.ArgumentParser(prog="evaluate.py")
p.add_argument("--ckpt", required=True); p.add_argument("--split", choices=["dev", "test"]); p.add_argument("--batch-size", type=int); p.add_argument("--num-beams", type=int, default=1)
a = p.parse_args()
import torch
sd = torch.load(a.ckpt); print({k: tuple(v.shape) for k, v in sd.items()})
