import json, random
random.seed(3)
with open("train.jsonl", "w") as f:
    for i in range(640):
        r = json.dumps({"features": [random.gauss(0, 1) for _ in range(6)], "target": random.random()})
        if i in (77, 301, 302):
            r = r[: len(r) // 2]
        if i == 410:
            r = json.dumps({"features": ["n/a"] * 6, "target": None})
        f.write(r + "\n")
