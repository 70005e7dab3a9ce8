import json, random
random.seed(3)
rows = [{"id": i, "feats": [round(random.random(), 3) for _ in range(16)], "target": random.randint(0, 3)} for i in range(1200)]
with open("train.jsonl", "w") as f:
    for r in rows:
        s = json.dumps(r)
        f.write(s if r["id"] == 742 else s + "\n")
