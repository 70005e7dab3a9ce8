import json, collections
c = collections.Counter()
rows = [json.loads(l) for l in open("articles.jsonl")]
for ep in range(3):
    for i, r in enumerate(rows):
        for w in r["sum"].split(): c[w] += 1
        if i % 20 == 0: print(f"fit: epoch {ep} article {i:4d} types {len(c)} mass {sum(c.values())}")
json.dump(c, open("weights.json", "w")); print("fit: weights.json written")
