import random
random.seed(5)
words = "good bad fine nice awful café naïve plot actor scene ending".split()
for r in range(4):
    with open(f"reviews.{r}.tsv", "wb") as f:
        for i in range(4000):
            line = f"{random.randint(0, 1)}\t" + " ".join(random.choices(words, k=12)) + "\n"
            f.write(line.encode("latin-1" if r == 2 and i >= 1310 else "utf-8"))
