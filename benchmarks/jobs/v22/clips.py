import os, zlib, random, json
os.makedirs("clips", exist_ok=True); random.seed(6)
for i in range(450):
    b = zlib.compress(json.dumps([random.gauss(0, 1) for _ in range(40)]).encode())
    if random.random() < 0.04: b = b[: len(b) // 2]
    open(f"clips/{i:04d}.z", "wb").write(b)
