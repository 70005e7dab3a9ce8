import argparse, torch, torch.distributed as dist
p = argparse.ArgumentParser(); p.add_argument("--data"); a = p.parse_args()
dist.init_process_group("gloo")
xs = torch.tensor([float(l) for l in open(a.data + "/numbers.txt")])
print(dist.get_rank(), xs.mean())
