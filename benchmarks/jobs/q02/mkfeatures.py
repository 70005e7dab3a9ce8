# Merkmale je Woche schreiben; Woche 31 wird nachgeliefert
import numpy as np, os
os.makedirs("features", exist_ok=True)
rng = np.random.default_rng(0)
for w in (27, 28, 29, 30, 32):
    np.savez(f"features/week{w:02d}.npz", x=rng.normal(size=(600, 12)).astype("f4"), y=rng.normal(size=600).astype("f4"))
print("wrote", len(os.listdir("features")), "weeks")
