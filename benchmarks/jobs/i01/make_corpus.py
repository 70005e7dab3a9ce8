import json, random
random.seed(3)
with open("corpus.jsonl", "w") as f:
    for i in range(120):
        row = {"id": i, "x": [round(random.gauss(0, 1), 3) for _ in range(8)], "y": i % 3}
        line = json.dumps(row)
        if i in (17, 58):
            line = line[: len(line) // 2]
        if i == 91:
            line = json.dumps({"id": i, "x": row["x"]})
        f.write(line + "\n")
print("wrote corpus.jsonl (120 rows)")
