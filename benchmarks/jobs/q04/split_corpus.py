import os, random
random.seed(1); os.makedirs("corpus", exist_ok=True)
W = "der die das und ist ein haus baum fluss stadt".split()
for i, n in enumerate((480, 480, 480, 320)):
    open(f"corpus/part-{i}.txt", "w").write("\n".join(" ".join(random.choices(W, k=12)) for _ in range(n)))
