import os, sys, torch
from net import make
m = make(); o = torch.optim.Adam(m.parameters(), 1e-4)
m(torch.randn(1, 3, 16, 16)).sum().backward(); o.step()
os.makedirs(os.path.dirname(sys.argv[1]), exist_ok=True)
torch.save({"epoch": 12, "model": m.state_dict(), "opt": o.state_dict()}, sys.argv[1])
print("epoch 12 checkpoint:", sys.argv[1], os.path.getsize(sys.argv[1]), "bytes")
