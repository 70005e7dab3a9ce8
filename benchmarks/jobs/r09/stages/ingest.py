import json, random
random.seed(9)
W = "storm coast harbor vote council budget school train delay repair bridge market price court appeal".split()
bad = 0
with open("articles.jsonl", "w") as f:
    for i in range(900):
        body = " ".join(random.choice(W) for _ in range(random.choice([0, 30, 40, 50])))
        if not body:
            bad += 1
            if bad % 12 == 0: print(f"ingest: article {i}: ERROR empty body, dropped ({bad} so far)")
            continue
        f.write(json.dumps({"id": i, "body": body, "sum": " ".join(body.split()[:8])}) + "\n")
print(f"ingest: kept {900-bad}, dropped {bad}")
