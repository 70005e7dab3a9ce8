import json, random
random.seed(11)
for r in range(3):
    with open(f"part{r}.jsonl", "w") as f:
        for _ in range(100):
            n = random.randint(4, 9)
            f.write(json.dumps({"tokens": [f"w{int(random.expovariate(0.01))}" for _ in range(n)], "tags": [random.randrange(5) for _ in range(n)]}) + "\n")
