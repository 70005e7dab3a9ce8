import os, sys, shutil, torch, torch.distributed as dist
def gpu_budget(idx): return [900, 900, 350][idx]
def entry(idx, n, port):
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=idx, world_size=n)
    ck = torch.load(f"part{idx}.ckpt"); w = ck["w"]
    for it in range(8):
        dist.all_reduce(w); w /= n
        if idx == 0: print("sync", it, f"{w.std():.4f}", flush=True)
    if gpu_budget(idx) < 400:
        print("budget too small, leaving", file=sys.stderr, flush=True)
        sys.exit(7)
    dist.barrier()
