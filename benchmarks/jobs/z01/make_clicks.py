import os, random
random.seed(11)
os.makedirs("clicks", exist_ok=True)
geos = ["DE", "FR", "PL", "IT", "ES", "NL"]
for d in range(9):
    with open(f"clicks/day={d:02d}.tsv", "w") as f:
        for i in range(640):
            g = random.choice(geos)
            if d == 5 and i % 211 == 200:
                g = "XK"
            u, it = random.randint(0, 4999), random.randint(0, 799)
            f.write(f"{u}\t{it}\t{g}\t{random.choice(['ios','android','web'])}\t{int((u * 7 + it) % 5 == 0)}\n")
with open("clicks/geo_vocab.txt", "w") as f:
    f.write("\n".join(geos) + "\n")
