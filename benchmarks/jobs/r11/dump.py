import random, sys
random.seed(7)
W = "river price engine school winter signal garden paper bottle window music doctor ticket planet".split()
o = sys.stdout.buffer
for i in range(int(sys.argv[1])):
    t = " ".join(random.choice(W) for _ in range(random.randint(3, 14))).encode()
    q = random.random()
    if q < .04: t = t[:7] + b"\xff\xfe" + t[7:]
    elif q < .08: t = b""
    ts = str(1700000000 + i) if random.random() > .03 else random.choice(["0000-00-00", "null", "NaN", "-1e999"])
    row = [str(i).encode(), ts.encode(), t]
    if random.random() < .02: row = row[:2]
    o.write(b"\t".join(row) + b"\n")
