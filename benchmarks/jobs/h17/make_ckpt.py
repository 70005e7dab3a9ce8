import torch, os
os.makedirs("ckpt/step_200", exist_ok=True)
for r in range(2):
    torch.save({"w": torch.randn(64, 64), "m": torch.randn(400, 400), "step": 200}, f"ckpt/step_200/optim_rank{r:02d}.pt")
