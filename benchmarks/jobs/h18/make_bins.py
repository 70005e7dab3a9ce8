import os
for r, n in enumerate((20, 20, 400, 20)):
    os.makedirs(f"bins/{r}", exist_ok=True)
    for i in range(n):
        open(f"bins/{r}/{i:04d}.bin", "wb").write(os.urandom(256))
