import datetime, hashlib, os, time
import torch, torch.nn as nn
import torch.distributed as dist

rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=60))


def note(msg):
    print("%s [worker %d] %s" % (time.strftime("%H:%M:%S"), rank, msg), flush=True)


def build_index(shard, n_docs):
    """near-duplicate index of the shard (minhash, pure Python, slow for large shards)"""
    t0, idx = time.time(), {}
    for d in range(n_docs):
        sig = []
        for h in range(12):
            sig.append(min(hashlib.md5(f"{h}:{d}:{k}".encode()).digest()[:4] for k in range(16)))
        idx.setdefault(tuple(sig[:2]), []).append(d)
        if d and d % 2000 == 0:
            note(f"shard {shard}: {d}/{n_docs} documents indexed ({d / (time.time() - t0):.0f}/s)")
    note(f"shard {shard}: index ready, {len(idx)} buckets, {time.time() - t0:.1f}s")
    return idx


sizes = [int(x) for x in open("shards.txt")]
note(f"shard {rank} has {sizes[rank]} documents")
enc = nn.Linear(128, 64)
for epoch in range(2):
    idx = build_index(rank, sizes[rank])
    note(f"epoch {epoch}: waiting for all shards")
    dist.monitored_barrier(timeout=datetime.timedelta(seconds=10), wait_all_ranks=True)
    for it in range(20):
        x = torch.randn(32, 128)
        q = enc(x)
        loss = (q @ q.t() - torch.eye(32)).pow(2).mean()
        loss.backward()
        for p in enc.parameters():
            dist.all_reduce(p.grad); p.data -= 1e-3 * p.grad / world; p.grad = None
    note(f"epoch {epoch}: loss {loss.item():.4f}")
dist.destroy_process_group()
