import json, random
random.seed(9)
with open("qa.jsonl", "w") as f:
    for i in range(500): f.write(json.dumps({"q": [random.randint(3, 99) for _ in range(12)], "start": random.randint(0, 11)}) + "\n")
print("qa.jsonl: 500 questions")
