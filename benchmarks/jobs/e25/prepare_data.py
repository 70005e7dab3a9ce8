import re, time
from collections import Counter
from tqdm import tqdm
def pair_counts(words):
    c = Counter()
    for w, n in words.items():
        for a, b in zip(w, w[1:]):
            c[a, b] += n
    return c
def merge(words, pair):
    out = {}
    for w, n in words.items():
        i, t = 0, []
        while i < len(w):
            if i + 1 < len(w) and (w[i], w[i + 1]) == pair:
                t.append(w[i] + w[i + 1]); i += 2
            else:
                t.append(w[i]); i += 1
        out[tuple(t)] = out.get(tuple(t), 0) + n
    return out
def train_bpe(text, merges):
    words = {tuple(w): n for w, n in Counter(text.split()).items()}
    table = []
    for _ in tqdm(range(merges), desc="Learning BPE merges", mininterval=2):
        c = pair_counts(words)
        if not c: break
        best = c.most_common(1)[0][0]
        words = merge(words, best); table.append(best)
    return table
