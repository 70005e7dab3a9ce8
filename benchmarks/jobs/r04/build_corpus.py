import random
random.seed(4)
S = "the operator|a nurse|our driver|the clerk|one student|the pilot".split("|")
V = "checks|moves|reports|repairs|forgets|sells".split("|")
O = "the small engine|every ticket|a broken error code|the failed order|two red boxes|the night shift plan".split("|")
with open("corpus.txt", "w") as f:
    for _ in range(1500):
        n = random.randint(1, 4)
        f.write(" and ".join(f"{random.choice(S)} {random.choice(V)} {random.choice(O)}" for _ in range(n)) + "\n")
print("corpus.txt: 1500 lines")
