import json, os
os.makedirs("shards", exist_ok=True); m = {}
cnt = {"en": [60, 60, 60], "de": [30, 30, 40], "code": [20, 260, 20]}
for l, c in cnt.items():
    m[l] = []
    for r, n in enumerate(c):
        fs = [f"shards/{l}-{r}-{k:04d}.bin" for k in range(n)]
        for f in fs: open(f, "wb").write(b"0" * 64)
        m[l].append(fs)
json.dump(m, open("manifest.json", "w"))
