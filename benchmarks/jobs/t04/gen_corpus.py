import random
random.seed(4)
w = ["".join(random.choices("etaoinshrdlucmfw", k=random.randint(2, 9))) for _ in range(4000)]
with open("corpus.txt", "w") as f:
    for _ in range(60000):
        f.write(" ".join(random.choices(w, k=22)) + "\n")
print("corpus.txt: 60000 lines")
