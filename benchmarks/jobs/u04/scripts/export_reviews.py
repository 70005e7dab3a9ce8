import json, random, sys
random.seed(5)
out = sys.argv[1]
adj = "great poor average noisy sturdy cheap excellent slow fast broken".split()
for q in ("2023q4", "2024q1", "2024q2"):
    with open(f"{out}/reviews-{q}.jsonl", "w") as f:
        for i in range(3000):
            stars = random.randint(1, 5)
            r = {"sku": f"K{random.randint(100, 999)}", "text": " ".join(random.choices(adj, k=6)), "stars": stars}
            if q == "2024q2":
                # new shop backend, "v2" schema
                r["stars"] = {"value": stars, "scale": 5}
            f.write(json.dumps(r) + "\n")
    print(f"wrote {out}/reviews-{q}.jsonl")
