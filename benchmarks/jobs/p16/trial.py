import json, resource, sys, numpy as np
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
hp = json.loads(sys.argv[1]); rng = np.random.default_rng(0)
ACT = {"tanh": np.tanh, "relu": lambda z: np.maximum(z, 0)}
x = rng.normal(size=(256, 6)); y = np.sin(x.sum(1))
H = hp["hidden"]; w = rng.normal(size=(6, H)); act = ACT[hp["act"]]
if H > 10000: gram = np.empty((H, H)); gram[:] = w.T @ w
v = np.zeros(H)
for e in range(25):
    h = act(x @ w); g = h.T @ (h @ v - y) / len(y)
    v -= hp["lr"] * g
    loss = np.mean((h @ v - y) ** 2)
    print(f"  epoch {e:2d} mse {loss:.5f}")
    if not loss < 1e3: raise FloatingPointError(f"diverged at epoch {e}: mse {loss:.3g}")
assert H > 0, "empty hidden layer"
print("val", loss)
