import os, time, torch, torch.distributed as dist
dist.init_process_group("gloo")
r = dist.get_rank()
print(f"ready, {torch.get_num_threads()} thread(s)", flush=True)
enc = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.GELU(), torch.nn.Linear(512, 128))
index = []
dim = {0: 60, 1: 2600, 2: 70}[r]        # documents per block of this worker's language
for block in range(40):
    docs = torch.randn(dim * 12, 256)
    with torch.no_grad():
        e = enc(docs)
    index.append((docs, e))
    n = torch.tensor([float(len(docs))]); dist.all_reduce(n)
    if block % 2 == 0:
        held = sum(d.numel() + v.numel() for d, v in index) * 4 / 2**20
        print(f"block {block:2d}: {len(docs)} docs here, {int(n)} everywhere, index {held:.0f} MB", flush=True)
    time.sleep(0.3)
dist.barrier()
print("index complete", flush=True)
