"""events.N.rec: u16 length, then utf-8 text of 'user<TAB>item<TAB>value'"""
import os, random, struct
os.makedirs("data", exist_ok=True)
for r in range(4):
    random.seed(r)
    with open(f"data/events.{r}.rec", "wb") as f:
        for i in range(6000):
            t = f"{random.randrange(500)}\t{random.randrange(800)}\t{random.random():.3f}".encode()
            if r == 2 and i == 2744: t = t[:3] + b"\xa4" + t[4:]   # row of the old latin-9 export
            f.write(struct.pack("<H", len(t)) + t)
