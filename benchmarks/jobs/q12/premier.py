import torch, os
os.makedirs("ckpt/1200", exist_ok=True)
for r in range(3):
    torch.manual_seed(r)
    torch.save({"step": 1200, "moments": torch.randn(40000), "w": torch.ones(40)}, f"ckpt/1200/optim-{r:05d}.pt")
with open("ckpt/1200/optim-00000.pt", "r+b") as f: f.truncate(98304)
