import csv, random
random.seed(3)
names = ["cat", "dog", "bird", "horse"]
for s in range(3):
    with open(f"shard_{s}.csv", "w", newline="") as f:
        w = csv.writer(f); w.writerow(["id", "label"])
        for i in range(160):
            lab = random.choice(names)
            if s == 1 and i == 74:
                lab = "Cat"
            w.writerow([s * 1000 + i, lab])
