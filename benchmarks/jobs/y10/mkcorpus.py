import sys, os, random
random.seed(7); os.makedirs(sys.argv[1], exist_ok=True)
for s in range(3):
    with open(f"{sys.argv[1]}/legal_{s}.txt", "w") as f:
        for i in range(60):
            n = random.randint(80, 400)
            if s == 1 and i == 27: n = 15800      # the annexes of the merger file
            f.write(" ".join(str(random.randint(5, 499)) for _ in range(n)) + "\n")
