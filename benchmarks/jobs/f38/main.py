import sys, torch, numpy as np
print("python", sys.version.split()[0], "torch", torch.__version__, "numpy", np.__version__)
DEVICE = "cuda:0"
net = torch.nn.LSTM(8, 16, batch_first=True)
x = torch.from_numpy(np.random.rand(4, 10, 8).astype("float32"))
print("loaded", tuple(x.shape))
net = net.to(DEVICE)
out, _ = net(x.to(DEVICE))
print(out.mean())
