import numpy as np, os
os.makedirs("tab", exist_ok=True)
for s in range(2):
    r = np.random.default_rng(s)
    t = r.normal(size=(400, 7))
    if s == 1:
        t[233, 4] = np.log(-1.0 * t[233, 4] ** 2)
    np.savetxt(f"tab/site{s}.csv", t, delimiter=",", fmt="%.5f")
