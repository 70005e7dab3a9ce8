import argparse
import datetime
import os
import pickle
import re
import time

import torch
import torch.distributed as dist

RANK = int(os.environ["RANK"])


def log(msg):
    print(f"{time.strftime('%m-%d %H:%M:%S')} R{RANK} {msg}", flush=True)


def docs(n):
    r = torch.Generator().manual_seed(0)
    for i in range(n):
        ids = torch.randint(0, 5000, (40,), generator=r).tolist()
        yield " ".join(f"w{j}" for j in ids)


def normalise(t):
    # langsame, aber gruendliche Bereinigung
    for _ in range(60):
        t = re.sub(r"\s+", " ", t.strip().lower())
    return t


def build_cache(path, n):
    log(f"Cache {path} fehlt, tokenisiere {n} Dokumente (nur Rang 0)")
    t0, res = time.time(), []
    for i, d in enumerate(docs(n), 1):
        res.append([hash(w) % 8192 for w in normalise(d).split()])
        if i % 1000 == 0:
            el = time.time() - t0
            log(f"tokenisiert {i}/{n} ({el:.0f}s, noch ca. {el / i * (n - i):.0f}s)")
    with open(path, "wb") as f:
        pickle.dump(res, f)
    log("Cache geschrieben")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--docs", type=int, default=1000)
    p.add_argument("--cache", default="tok.cache")
    a = p.parse_args()
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=15))
    log(f"bereit, {dist.get_world_size()} Raenge")
    if RANK == 0 and not os.path.exists(a.cache):
        build_cache(a.cache, a.docs)
    else:
        log("warte auf den Cache von Rang 0")
    dist.barrier()
    data = pickle.load(open(a.cache, "rb"))[RANK::dist.get_world_size()]
    emb = torch.nn.EmbeddingBag(8192, 16)
    opt = torch.optim.SGD(emb.parameters(), 0.1)
    for s in range(0, len(data), 64):
        loss = emb(torch.tensor(data[s:s + 64])).pow(2).mean()
        opt.zero_grad(); loss.backward()
        dist.all_reduce(emb.weight.grad)
        opt.step()
    log("fertig")


main()
