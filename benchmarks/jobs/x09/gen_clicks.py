import random
random.seed(9)
for r in range(3):
    with open(f"clicks-{r}.jsonl", "w") as f:
        for i in range(3000):
            s = '{"u": %d, "i": %d, "dwell": %.3f, "y": %d}' % (random.randint(0, 99), random.randint(0, 499), random.expovariate(1), random.random() < .2)
            if random.random() < .004:
                s = s[:random.randint(3, 30)]
            f.write(s + "\n")
