import random
random.seed(2)
W = "the model f(x) of g(y(z)) was run on a set with (some) noise and (no) label".split()
for r in range(3):
    with open(f"lines_{r}.txt", "w") as f:
        for i in range(3000):
            if r == 1 and i == 1777:
                f.write("expr " + "(" * 400000 + "\n")     # scraped from a fuzzing corpus
            f.write(" ".join(random.choices(W, k=14)) + "\n")
print("lines_{0,1,2}.txt written")
