import os, time, argparse, datetime
import torch, torch.distributed as dist

def setup(args):
    print(f"[worker {args.rank}] world_size={args.world_size} init_method={args.init_method}", flush=True)
    dist.init_process_group("gloo", init_method=args.init_method, rank=args.rank,
                            world_size=args.world_size, timeout=datetime.timedelta(seconds=args.timeout))
    print(f"[worker {args.rank}] process group is up", flush=True)

if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--rank", type=int, required=True)
    ap.add_argument("--world-size", type=int, default=3)
    ap.add_argument("--init-method", default="tcp://127.0.0.1:21681")
    ap.add_argument("--timeout", type=int, default=18)
    args = ap.parse_args()
    setup(args)
    w = torch.zeros(1000)
    for step in range(50):
        g = torch.randn(1000)
        dist.all_reduce(g)
        w -= 0.1 * g / args.world_size
    print(f"[worker {args.rank}] |w| = {w.norm():.3f}")
