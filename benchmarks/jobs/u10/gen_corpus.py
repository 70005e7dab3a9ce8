import random
random.seed(11)
base = [f"tok{i}" for i in range(300)]
for s in range(3):
    with open(f"corpus_{s}.txt", "w") as f:
        for i in range(1200):
            ws = random.choices(base, k=12)
            if s == 2 and i == 777:
                ws[4] = "naïve"
            f.write(" ".join(ws) + "\n")
print("corpus: 3 x 1200 sentences")
