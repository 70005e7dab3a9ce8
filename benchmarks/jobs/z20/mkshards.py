import gzip, json, os, random
os.makedirs("shards", exist_ok=True)
random.seed(4)
for s in range(4):
    with gzip.open(f"shards/part-{s:05d}.jsonl.gz", "wt") as f:
        for i in range(260):
            rec = json.dumps({"id": f"{s}-{i}", "text": "".join(random.choices("abcdefgh ", k=80))})
            if s == 3 and random.random() < 0.14:
                rec = rec[:random.randint(5, 60)]
            f.write(rec + "\n")
