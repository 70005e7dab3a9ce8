import os, time, pickle, hashlib, random
from datetime import timedelta
import torch, torch.distributed as dist
from tqdm import tqdm

RANK = int(os.environ["RANK"])
CACHE = "cache/packed.pkl"

def mprint(*a):
    if RANK == 0:
        print("[sft]", *a, flush=True)

def merge_pairs(doc, rounds):
    """naive BPE on one document"""
    toks = list(doc)
    for _ in range(rounds):
        c = {}
        for p in zip(toks, toks[1:]):
            c[p] = c.get(p, 0) + 1
        best = max(c, key=c.get)
        out, i = [], 0
        while i < len(toks):
            if i + 1 < len(toks) and (toks[i], toks[i + 1]) == best:
                out.append(toks[i] + toks[i + 1]); i += 2
            else:
                out.append(toks[i]); i += 1
        toks = out
    return [int(hashlib.md5(t.encode()).hexdigest()[:4], 16) for t in toks]

def build():
    rng = random.Random(1)
    docs = ["".join(rng.choices("etaoin shrdlu", k=6000)) for _ in range(900)]
    rows = []
    for d in tqdm(docs, desc="Packing train split", mininterval=1.0, ncols=90):
        rows += merge_pairs(d, 60)
    os.makedirs("cache", exist_ok=True)
    pickle.dump(rows, open(CACHE, "wb"))

def main():
    dist.init_process_group("gloo", timeout=timedelta(seconds=14))
    mprint("world", dist.get_world_size(), "| torch", torch.__version__)
    if RANK == 0 and not os.path.exists(CACHE):
        mprint("no cache at", CACHE)
        build()
    dist.barrier()
    rows = torch.tensor(pickle.load(open(CACHE, "rb")))
    mprint("tokens", len(rows))
    emb = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(torch.nn.Embedding(65536, 16), torch.nn.Linear(16, 64)))
    for s in range(50):
        i = torch.randint(0, len(rows), (64,))
        emb(rows[i]).pow(2).mean().backward()
        mprint("step", s)

main()
