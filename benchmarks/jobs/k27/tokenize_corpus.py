import numpy as np, os
os.makedirs("tokens", exist_ok=True)
for i in range(16): np.save(f"tokens/part-{i:05d}.npy", np.random.randint(0, 64, 10 * 8 * 16))
