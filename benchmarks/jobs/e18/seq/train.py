import argparse, datetime, os, platform
import torch, torch.distributed as dist
def main():
    p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=10); a = p.parse_args()
    print(f"python {platform.python_version()} torch {torch.__version__} world_size={os.environ['WORLD_SIZE']} threads={torch.get_num_threads()}")
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=20))
    print("init ok")
    g = torch.nn.GRU(8, 8)
    for s in range(a.steps):
        y, _ = g(torch.randn(5, 2, 8)); l = y.pow(2).mean(); g.zero_grad(); l.backward()
        for p in g.parameters(): dist.all_reduce(p.grad)
        print("step", s, l.item())
if __name__ == "__main__":
    main()
