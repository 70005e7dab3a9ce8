from collections import Counter
import glob
c = Counter()
for fn in sorted(glob.glob("corpus/*.txt")):
    n = 0
    with open(fn) as f:
        for line in f:
            c.update(line.split()); n += 1
    print(fn, n, "lines", len(c), "types")
with open("vocab.txt", "w") as f:
    for w, k in c.most_common(500):
        f.write(f"{w}\t{k}\n")
