import json, random, pathlib
random.seed(3)
d = pathlib.Path("data/captions"); d.mkdir(parents=True, exist_ok=True)
for i in range(240):
    rec = {"id": i, "x": [round(random.random(), 4) for _ in range(16)], "y": random.randint(0, 3)}
    s = json.dumps(rec)
    if i % 53 == 7:
        s = s[: len(s) // 2]
    elif i % 71 == 11:
        s = json.dumps({"id": i, "y": 1})
    (d / f"{i:05d}.json").write_text(s)
print("wrote 240 records to", d)
