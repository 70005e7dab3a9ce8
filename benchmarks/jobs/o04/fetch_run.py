import os, torch
os.makedirs("runs/base", exist_ok=True)
m = torch.nn.Sequential(torch.nn.Embedding(500, 64), torch.nn.Flatten(), torch.nn.Linear(64 * 16, 256), torch.nn.ReLU(), torch.nn.Linear(256, 500))
o = torch.optim.AdamW(m.parameters(), lr=3e-4)
m(torch.randint(0, 500, (8, 16))).sum().backward(); o.step()
torch.save({"model": m.state_dict(), "opt": o.state_dict(), "it": 400}, "runs/base/ckpt_000400.pt")
os.truncate("runs/base/ckpt_000400.pt", 1048576)
