import json, os, random
os.makedirs("data", exist_ok=True); random.seed(1)
for p in range(2):
    with open(f"data/part-{p}.jsonl", "w") as f:
        for i in range(200):
            row = json.dumps({"text": " ".join(random.choice(["a", "cat", "the", "dog", "sat"]) for _ in range(10))})
            if p == 1 and i == 137: row = row[:-9]
            f.write(row + "\n")
