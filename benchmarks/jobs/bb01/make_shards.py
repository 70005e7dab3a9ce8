import json, os, random
random.seed(3)
os.makedirs("shards", exist_ok=True)
for s in range(3):
    with open(f"shards/part-{s:05d}.jsonl", "w") as f:
        for i in range(480):
            r = {"id": f"{s}-{i}", "x": [round(random.gauss(0, 1), 4) for _ in range(8)], "label": random.choice(["pos", "neg"])}
            if s == 1 and i == 407:
                r["label"] = "neutral"
            f.write(json.dumps(r) + "\n")
