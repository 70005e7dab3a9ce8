import sys, numpy as np, pandas as pd
rng = np.random.default_rng(3)
df = pd.DataFrame({"antiguedad": rng.integers(1, 90, 5000), "cuota": rng.normal(30, 8, 5000).round(2), "quejas": rng.poisson(0.6, 5000)})
df["baja"] = (rng.random(5000) < 1 / (1 + np.exp(2 + 0.03 * df.antiguedad - 0.9 * df.quejas))).astype(int)
df.to_csv(f"{sys.argv[1]}.csv", index=False)
print(df.describe().round(2).to_string())
