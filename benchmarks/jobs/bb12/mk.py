import json, random
random.seed(11)
for r in range(2):
    with open(f"rows{r}.jsonl", "w") as f:
        for i in range(400):
            s = json.dumps({"id": i, "v": [round(random.random(), 3) for _ in range(6)], "y": round(random.random(), 3)})
            if random.random() < .02: s = s[: random.randint(5, 30)]
            f.write(s + "\n")
