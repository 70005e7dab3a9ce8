import json, os, random
random.seed(4)
os.makedirs("shards", exist_ok=True)
# the labels come from three annotation rounds; round 3 also used "spam"
names = ["neg", "neutral", "pos", "spam"]
for s in range(3):
    with open(f"shards/reviews_{s}.jsonl", "w") as f:
        for i in range(80):
            k = random.randrange(3)
            if s == 2 and i in (34, 57):
                k = 3
            f.write(json.dumps({"text": f"review {i} of the shop", "label": k, "name": names[k]}) + "\n")
