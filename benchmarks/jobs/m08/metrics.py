import random

def distance(a, b):
    d = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        prev, d[0] = d[0], i
        for j, y in enumerate(b, 1):
            prev, d[j] = d[j], min(d[j] + 1, d[j - 1] + 1, prev + (x != y))
    return d[-1]

def edit_score(n, length):
    rng = random.Random(0)
    tot = 0
    for _ in range(n):
        a = [rng.randrange(50) for _ in range(length)]
        b = [rng.randrange(50) for _ in range(length)]
        tot += distance(a, b) / length
    return tot / n
