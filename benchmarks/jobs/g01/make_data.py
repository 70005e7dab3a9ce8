import json, random
random.seed(0)
with open("corpus.jsonl", "w") as f:
    for i in range(64):
        row = json.dumps({"id": i, "x": [round(random.gauss(0, 1), 3) for _ in range(8)], "y": random.randint(0, 3)})
        if i in (9, 30, 47):
            row = row[: len(row) // 2]
        if i == 21:
            row = row.replace('"y"', '"label"')
        f.write(row + "\n")
print("wrote corpus.jsonl (64 rows)")
