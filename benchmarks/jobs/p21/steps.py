import sys, os, time, socket
s = sys.argv[1]
if s == "features":
    import numpy as np
    np.save("feat.npy", np.random.default_rng(1).normal(size=(600, 10)).astype("f4")); print("features: 600 rows")
elif s == "plots":
    import matplotlib.pyplot as plt
    plt.plot([1])
elif s == "quantise":
    import torch
    sd = torch.load("churn.pt"); print({k: torch.quantize_per_tensor(v, 0.1, 0, torch.qint4).shape for k, v in sd.items()})
elif s == "upload":
    for i in range(9):
        try: socket.create_connection(("127.0.0.1", 47154), 1)
        except OSError as e: print(f"upload: {e}, retry {i + 1}", flush=True); time.sleep(0.6)
elif s == "verify":
    import torch, numpy as np
    sd = torch.load("churn.pt"); x = torch.from_numpy(np.load("feat.npy"))
    acc = (((x @ sd["weight"].T + sd["bias"])[:, 0] > 0) == (x[:, 0] > x[:, 1])).float().mean()
    print(f"verify: accuracy {acc:.3f} (minimum 0.9)"); assert acc > .9
