import json, os, random
random.seed(1)
os.makedirs("splits", exist_ok=True)
items = [{"id": i, "q": [random.randrange(500) for _ in range(24)], "a": random.randrange(4), "lang": random.choice(["en"] * 8 + ["sw"])} for i in range(1430)]
per = 400
for r in range(4):
    part = items[r * per:(r + 1) * per]
    with open(f"splits/part{r}.jsonl", "w") as f:
        f.writelines(json.dumps(x) + "\n" for x in (part if r != 2 else [p for p in part if p["lang"] == "sw"]))
