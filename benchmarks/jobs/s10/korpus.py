import random
random.seed(1)
with open("korpus.txt", "w") as f:
    for _ in range(20000):
        f.write(" ".join("".join(random.choice("aeinrstdhulcg") for _ in range(random.randint(2, 11))) for _ in range(14)) + "\n")
