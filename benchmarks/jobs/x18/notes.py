import json, random
random.seed(3)
# each worker has its own export of the notes
for r, short in ((0, .0), (1, .0), (2, .45)):
    with open(f"notes.{r}.jsonl", "w") as f:
        for i in range(120):
            n = random.randint(1, 6) if random.random() < short else random.randint(12, 30)
            f.write(json.dumps({"ids": [random.randint(1, 255) for _ in range(n)]}) + "\n")
