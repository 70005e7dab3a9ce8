import json, random
random.seed(0); names = ["greet", "book", "cancel", "thanks"]
for r in range(4):
    with open(f"part{r}.json", "w") as f:
        rows = [{"v": [random.random() for _ in range(6)], "intent": random.choice(names)} for _ in range(160)]
        if r == 2: rows[101]["intent"] = "cancel "
        json.dump(rows, f)
