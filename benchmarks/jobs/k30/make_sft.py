import json, random
random.seed(5)
with open("sft.jsonl", "w") as f:
    for i in range(120):
        p = random.randint(5, 14) if i != 23 else 31
        f.write(json.dumps({"prompt": [random.randint(4, 30) for _ in range(p)], "answer": [random.randint(4, 30) for _ in range(8)]}) + "\n")
