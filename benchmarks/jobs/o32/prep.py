import argparse, json, os, random, warnings
p = argparse.ArgumentParser(); p.add_argument("--out"); p.add_argument("--split"); a = p.parse_args()
os.makedirs(os.path.dirname(a.out), exist_ok=True); random.seed(a.split)
skipped = 0
with open(a.out, "w") as f:
    for i in range(120):
        try:
            x = [random.random() for _ in range(5)]
            if i % 40 == 7: x[2] = "n/a"
            y = sum(float(v) for v in x)
        except ValueError as e: skipped += 1; print(f"WARNING row {i} skipped: {e}"); continue
        f.write(json.dumps({"x": x, "y": y}) + "\n")
print(f"{a.split}: wrote {a.out}, skipped {skipped}")
