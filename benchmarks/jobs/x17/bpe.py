from collections import Counter
from tqdm import tqdm


def learn(path, n):
    words = Counter(open(path).read().split())
    seqs = {w: list(w) for w in words}
    merges = []
    for _ in tqdm(range(n), desc="bpe merges", mininterval=1.0):
        c = Counter()
        for w, s in seqs.items():
            for p in zip(s, s[1:]):
                c[p] += words[w]
        a, b = c.most_common(1)[0][0]
        merges.append((a, b))
        for w, s in seqs.items():
            i = 0
            while i < len(s) - 1:
                if s[i] == a and s[i + 1] == b:
                    s[i:i + 2] = [a + b]
                i += 1
    return merges
