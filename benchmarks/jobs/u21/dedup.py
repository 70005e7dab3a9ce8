# Near-duplicate removal of sentence embeddings, one language per rank.
import argparse, os, sys, time
import torch
import torch.distributed as dist

SIZES = {"de": 4000, "en": 2_400_000, "fr": 9000, "nl": 2500}
rank = int(os.environ["RANK"])


def embed(lang, dim=8):
    g = torch.Generator().manual_seed(len(lang) + SIZES[lang])
    return torch.nn.functional.normalize(torch.randn(SIZES[lang], dim, generator=g), dim=-1)


def near_dups(e, thr):
    sim = torch.empty(len(e), len(e))
    for i in range(0, len(e), 1024):
        sim[i:i + 1024] = e[i:i + 1024] @ e.T
    sim.fill_diagonal_(0)
    return (sim > thr).any(1)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--langs", default="de,nl")
    p.add_argument("--thr", type=float, default=0.995)
    a = p.parse_args()
    dist.init_process_group("gloo")
    lang = a.langs.split(",")[rank]
    e = embed(lang)
    print(f"dedup[{lang}] {len(e)} sentences, {e.numel() * 4 / 2**20:.1f} MiB of embeddings", flush=True)
    t = time.time()
    m = near_dups(e, a.thr)
    print(f"dedup[{lang}] {int(m.sum())} near duplicates ({time.time() - t:.1f}s)", flush=True)
    torch.save(e[~m], f"{lang}.pt")
    n = torch.tensor([int((~m).sum())])
    dist.all_reduce(n)
    if rank == 0:
        print("kept in all:", int(n))
    dist.destroy_process_group()


main()
