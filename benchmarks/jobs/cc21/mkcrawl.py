import gzip, json, os, random
random.seed(3)
os.makedirs("crawl", exist_ok=True)
words = [f"w{i}" for i in range(4000)]
for s in range(30):
    lines = []
    for i in range(200):
        b = json.dumps({"url": f"http://site{random.randrange(99)}.example/{i}", "text": " ".join(random.choices(words, k=80))}).encode()
        if random.random() < 0.03:
            b = b[:random.randrange(10, len(b))]
        elif random.random() < 0.02:
            b = b.replace(b"w1", b"\xff\xfe", 1)
        lines.append(b)
    blob = gzip.compress(b"\n".join(lines))
    open(f"crawl/seg{s:03d}.gz", "wb").write(blob if s != 17 else blob[:-9000])
