import argparse, json, os, random
ap = argparse.ArgumentParser()
ap.add_argument("--out"); ap.add_argument("--seed", type=int)
a = ap.parse_args()
random.seed(a.seed)
INTENTS = ["refund", "shipping", "cancel", "greeting", "complaint"]
os.makedirs(a.out, exist_ok=True)
for split, n, labels in (("train", 900, INTENTS), ("dev", 300, INTENTS + ["smalltalk"])):
    with open(f"{a.out}/{split}.jsonl", "w") as f:
        for i in range(n):
            lab = random.choice(INTENTS)
            if split == "dev" and i in (236, 281):
                lab = "smalltalk"
            row = json.dumps({"id": i, "x": [random.gauss(INTENTS.index(lab) if lab in INTENTS else 9, 1) for _ in range(16)], "intent": lab})
            if split == "train" and i % 61 == 7:
                row = row[: len(row) // 2]
            f.write(row + "\n")
print("corpus written to", a.out)
