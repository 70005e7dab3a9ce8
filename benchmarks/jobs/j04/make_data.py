import json, os, random
random.seed(0); os.makedirs("data", exist_ok=True)
for s in range(2):
    with open(f"data/split{s}.jsonl", "w") as f:
        for i in range(40):
            ids = [random.randint(4, 30) for _ in range(12)]
            w = [0.0, 0.0] if (s == 1 and i == 9) else [1.0, random.random()]
            f.write(json.dumps({"id": f"{s}-{i:05d}", "ids": ids, "weight": w}) + "\n")
