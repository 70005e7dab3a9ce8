import os, random
random.seed(5); os.makedirs("csv", exist_ok=True)
for r in range(3):
    for i in range(20):
        rows = [",".join(f"{random.gauss(0,1):.4f}" for _ in range(4)) for _ in range(16)]
        if (r, i) == (0, 11): rows[6] = rows[6].replace(".", "..", 1)
        open(f"csv/{r}_{i}.csv", "w").write("\n".join(rows))
