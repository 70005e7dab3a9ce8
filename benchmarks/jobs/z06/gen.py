import json, random
random.seed(5)
with open("train.jsonl", "w") as f:
    for i in range(1680):
        n = random.randint(10, 40)
        if i % 3 == 1 and random.random() < 0.38:
            n = random.randint(50, 90)
        f.write(json.dumps({"ids": [random.randrange(1000) for _ in range(n)], "y": random.randrange(2)}) + "\n")
