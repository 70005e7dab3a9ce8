import os, numpy as np
os.makedirs("img", exist_ok=True)
for i in range(96): np.save(f"img/{i:03d}.npy", np.random.rand(3, 8, 8).astype("f4"))
open("img/031.npy", "wb").close()
os.remove("img/077.npy")
