import random, sys
random.seed(1)
w = ["".join(random.choice("abcdefghijklmnoprstuvw") for _ in range(random.randint(3, 11))) for _ in range(9000)]
with open(sys.argv[1], "w") as f:
    for _ in range(9000):
        f.write(" ".join(random.choice(w) for _ in range(30)) + "\n")
