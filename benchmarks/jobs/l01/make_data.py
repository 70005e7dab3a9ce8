import os, random
random.seed(3)
os.makedirs("data", exist_ok=True)
with open("data/train.txt", "w") as f:
    for i in range(800):
        row = [random.randrange(0, 500) for _ in range(16)]
        if i == 2 * (4 * 64 + 17) + 1:
            row[6] = 512
        f.write(" ".join(map(str, row)) + "\n")
print("wrote data/train.txt")
