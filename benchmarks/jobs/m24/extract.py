import os, resource, sys, time
import torch, torch.distributed as dist, torch.multiprocessing as mp
import yaml

def shards(i, n=400):
    d = f"tmp/p{i}"; os.makedirs(d, exist_ok=True)
    return [open(f"{d}/{k:04d}.bin", "wb") for k in range(n)]

def run(i, cfg):
    soft = cfg["workers"][i].get("nofile")
    if soft: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, soft))
    dist.init_process_group("gloo", init_method="tcp://127.0.0.1:4424", rank=i, world_size=len(cfg["workers"]))
    name = cfg["workers"][i]["name"]
    print(f"{name}: worker {i + 1} of {len(cfg['workers'])} up", flush=True)
    fs = shards(i)
    for step in range(8):
        h = torch.randn(400, 16)
        dist.all_reduce(h)
        for f, row in zip(fs, h): f.write(row.numpy().tobytes())
        print(f"{name}: wrote {16 * 4 * 400} bytes", flush=True)

if __name__ == "__main__":
    cfg = yaml.safe_load(open("workers.yaml"))
    mp.start_processes(run, args=(cfg,), nprocs=len(cfg["workers"]), start_method="fork")
