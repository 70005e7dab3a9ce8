import json, os, random
random.seed(1); os.makedirs("split", exist_ok=True)
rows = [{"x": [random.random() for _ in range(8)]} for _ in range(68)]
per = 48
for k in range(2):
    with open(f"split/part{k}.jsonl", "w") as f:
        for r in rows[k * per:(k + 1) * per]:
            f.write(json.dumps(r) + "\n")
