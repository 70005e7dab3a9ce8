import json, os, random
random.seed(17); os.makedirs("raw", exist_ok=True)
for s in range(12):
    with open(f"raw/crawl-{s:03d}.jsonl", "wb") as f:
        for i in range(220):
            b = json.dumps({"url": f"https://ex.org/{s}/{i}", "text": "word " * random.randint(2, 30), "lang": random.choice(["en", "fr", "??"])}).encode()
            k = random.random()
            if k < .05: b = b[:-9]
            elif k < .09: b = b.replace(b"word", b"w\xffrd", 1)
            elif k < .12: b = b.replace(b'"text"', b'"txt"')
            f.write(b + b"\n")
open("raw/crawl-012.jsonl.gz", "wb").write(os.urandom(300))
