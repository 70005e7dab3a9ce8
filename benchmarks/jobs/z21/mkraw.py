import os, random
os.makedirs("raw", exist_ok=True); os.makedirs("tok", exist_ok=True)
random.seed(9)
W = ["".join(random.choices("abcdefghijklmnop", k=random.randint(2, 9))) for _ in range(8000)]
for i in range(28):
    n = 200_000 if i == 14 else random.randint(5000, 20000)
    open(f"raw/web_{i:02d}.txt", "w").write(" ".join(random.choices(W, k=n)))
