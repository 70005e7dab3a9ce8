import collections, json, math, pickle, sys
pairs, uni = collections.Counter(), collections.Counter()
rows = [json.loads(l) for l in open(sys.argv[1])]
cut = int(len(rows) * 0.9)
for r in rows[:cut]:
    t = ["<s>"] + r["text"].split()
    uni.update(t)
    pairs.update(zip(t, t[1:]))
V = len(uni)
for alpha in (1.0, 0.5, 0.1, 0.01):
    nll = k = 0
    for r in rows[cut:]:
        t = ["<s>"] + r["text"].split()
        for p in zip(t, t[1:]):
            nll -= math.log((pairs[p] + alpha) / (uni[p[0]] + alpha * V)); k += 1
    print(f"[ngram] alpha={alpha:<5} held-out ppl={math.exp(nll / k):.3f}")
pickle.dump((pairs, uni), open("ngram.pkl", "wb"))
print(f"[ngram] saved, vocab={V}, rows={cut}+{len(rows) - cut}")
