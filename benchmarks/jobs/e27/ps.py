import argparse, os, torch, torch.distributed as dist
p = argparse.ArgumentParser()
p.add_argument("--role", choices=["learner", "actor"], required=True)
p.add_argument("--rank", type=int, required=True)
p.add_argument("--world", type=int, default=3)
p.add_argument("--replay-size", type=int, default=1000)
p.add_argument("--sampler", choices=["uniform", "prioritized"], default="uniform")
a = p.parse_args()
print(f"{a.role} {a.rank} up ({a.sampler}, replay {a.replay_size})", flush=True)
dist.init_process_group("gloo", init_method="tcp://127.0.0.1:29747", rank=a.rank, world_size=a.world)
for i in range(10):
    t = torch.ones(1); dist.all_reduce(t)
