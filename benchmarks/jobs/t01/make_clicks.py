import argparse, csv, os, random

ap = argparse.ArgumentParser()
ap.add_argument("--out", default="data")
ap.add_argument("--campaigns", type=int, default=4)
a = ap.parse_args()
os.makedirs(a.out, exist_ok=True)
rnd = random.Random(20240611)
sizes = [5210, 4877, 5033, 4650]
ctr = [0.031, 0.027, 0.004, 0.045]
for c in range(a.campaigns):
    n = sizes[c % 4]
    pos = 0
    with open(f"{a.out}/campaign_{c}.csv", "w", newline="") as f:
        w = csv.writer(f)
        w.writerow(["hour", "slot", "bid", "age", "click"])
        for i in range(n):
            # the last part of every file is the validation day
            y = int(rnd.random() < ctr[c % 4])
            if i > n * 0.8 and c % 4 == 2:
                y = 0
            pos += y
            w.writerow([rnd.randrange(24), rnd.randrange(12), round(rnd.random() * 3, 3), rnd.randrange(18, 80), y])
    print(f"wrote {a.out}/campaign_{c}.csv rows={n} clicks={pos}")
