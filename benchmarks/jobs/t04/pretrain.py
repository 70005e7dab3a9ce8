# 小型语言模型预训练：先由 0 号进程切词并写缓存，其余进程等待
import collections
import os
from datetime import timedelta

import torch
import torch.distributed as dist
from tqdm import tqdm


def train_bpe(lines, merges):
    freq = collections.Counter(w for l in lines for w in l.split())
    words = {w: tuple(w) for w in freq}
    rules = []
    bar = tqdm(range(merges), desc="bpe merges", mininterval=2.0)
    for _ in bar:
        pairs = collections.Counter()
        for w, s in words.items():
            for a, b in zip(s, s[1:]):
                pairs[a, b] += freq[w]
        (a, b), _n = pairs.most_common(1)[0]
        rules.append((a, b))
        for w, s in words.items():
            out, i = [], 0
            while i < len(s):
                if i + 1 < len(s) and s[i] == a and s[i + 1] == b:
                    out.append(a + b)
                    i += 2
                else:
                    out.append(s[i])
                    i += 1
            words[w] = tuple(out)
    return rules, words


def main():
    dist.init_process_group("gloo", timeout=timedelta(seconds=12))
    r = dist.get_rank()
    print(f"[进程 {r}] 本地序号 {os.environ['LOCAL_RANK']}，共 {dist.get_world_size()} 个进程")
    if r == 0 and not os.path.exists("cache/tokens.pt"):
        print("[进程 0] 没有缓存 cache/tokens.pt，开始切词", flush=True)
        lines = open("corpus.txt").read().splitlines()
        rules, words = train_bpe(lines, 8000)
        os.makedirs("cache", exist_ok=True)
        vocab = {t: i for i, t in enumerate(sorted({t for s in words.values() for t in s}))}
        torch.save(torch.tensor([vocab[t] for l in lines for w in l.split() for t in words[w]]), "cache/tokens.pt")
        print("[进程 0] 缓存写完", flush=True)
    print(f"[进程 {r}] 等待缓存", flush=True)
    dist.barrier()
    tok = torch.load("cache/tokens.pt")
    print(f"[进程 {r}] {len(tok)} 个词元")
    dist.destroy_process_group()


main()
