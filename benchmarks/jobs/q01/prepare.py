import json, os, random
random.seed(4)
os.makedirs("data", exist_ok=True)
for region in ("amer", "apac", "emea", "latam"):
    with open(f"data/export-{region}.jsonl", "w") as f:
        for i in range(400):
            row = json.dumps({"id": f"{region}-{i}", "prompt": [random.randrange(200) for _ in range(8)], "label": random.randrange(4)})
            if region == "emea" and i == 233:
                row = row[: len(row) // 2]          # 2024-11 export, upload was cut and resumed
            f.write(row + "\n")
print("exports:", sorted(os.listdir("data")))
