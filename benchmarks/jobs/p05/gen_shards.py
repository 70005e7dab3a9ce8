import os, random
random.seed(5)
os.makedirs("shards", exist_ok=True)
for s in range(4):
    with open(f"shards/part-{s:05d}.csv", "w") as f:
        for i in range(480):
            row = [f"{random.random():.4f}" for _ in range(9)]
            if s == 1 and i % 4 == 0: row[random.randrange(9)] = "N/A"
            elif i % 160 == 33: row[2] = "-"
            f.write(",".join(row) + "\n")
