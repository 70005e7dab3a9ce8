"""Copy checkpoints from the store, oldest first, within the nightly transfer window."""
import argparse, os

ap = argparse.ArgumentParser()
ap.add_argument("src"); ap.add_argument("dst"); ap.add_argument("--window-kib", type=int)
a = ap.parse_args()
os.makedirs(a.dst, exist_ok=True)
left = a.window_kib * 1024
for n in sorted(os.listdir(a.src)):
    p = os.path.join(a.src, n)
    total = os.path.getsize(p)
    take = min(total, left)
    with open(p, "rb") as f, open(os.path.join(a.dst, n), "wb") as g:
        g.write(f.read(take))
    left -= take
    print(f"   {n}  {take:>9,} of {total:,} bytes")
    if left <= 0:
        print("   window used up, the rest follows tomorrow")
        break
