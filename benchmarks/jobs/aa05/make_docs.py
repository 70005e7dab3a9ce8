import json, random
random.seed(7)
with open("docs.jsonl", "w") as f:
    for i in range(3000):
        n = random.randint(20, 200)
        if i == 1637:
            n = 0
        f.write(json.dumps({"id": i, "ids": [random.randint(3, 999) for _ in range(n)]}) + "\n")
print("wrote docs.jsonl")
