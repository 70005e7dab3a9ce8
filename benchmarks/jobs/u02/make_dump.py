import argparse, json, random
ap = argparse.ArgumentParser()
ap.add_argument("--n", type=int, default=5000)
ap.add_argument("--out", default="raw.jsonl")
a = ap.parse_args()
random.seed(77)
words = "der pump valve sensor drift error shutdown restart ok nominal pressure torque belt motor stall retry alarm".split()
with open(a.out, "w") as f:
    for i in range(a.n):
        rec = {"id": i, "ts": f"2024-{random.randint(1,12):02d}-{random.randint(1,28):02d}T{random.randint(0,23):02d}:00:00",
               "text": " ".join(random.choices(words, k=random.randint(4, 20))), "temp": round(random.gauss(60, 9), 2)}
        r = random.random()
        if r < 0.006:
            rec["temp"] = "n/a"
        elif r < 0.011:
            del rec["text"]
        elif r < 0.016:
            rec["ts"] = "0000-00-00T00:00:00"
        line = json.dumps(rec)
        if 0.016 <= r < 0.021:
            line = line[: len(line) // 2]
        f.write(line + "\n")
print(f"[dump] {a.n} records -> {a.out}")
