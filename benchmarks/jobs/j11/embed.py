import os, numpy as np, torch, torch.distributed as dist
dist.init_process_group("gloo")
print(f"group of {dist.get_world_size()} up", flush=True)
table = torch.nn.Embedding(2000, 64)
def build_index(n, dim=512):
    index = np.zeros((n, dim), dtype=np.float32)
    return index
for rnd in range(4):
    v = table(torch.randint(0, 2000, (128,))).detach().mean(0)
    dist.all_reduce(v)
    print(f"round {rnd}: norm {v.norm().item():.4f}", flush=True)
idx = build_index(4_000_000)
print(f"index {idx.shape} allocated", flush=True)
dist.barrier()
for rnd in range(4, 8):
    v = table(torch.randint(0, 2000, (128,))).detach().mean(0)
    dist.all_reduce(v)
    print(f"round {rnd}: norm {v.norm().item():.4f}", flush=True)
