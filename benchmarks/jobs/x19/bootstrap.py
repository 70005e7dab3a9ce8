import os, torch
os.makedirs("weights", exist_ok=True)
for r in range(3):
    torch.manual_seed(r)
    torch.save({"expert": torch.randn(256, 256), "iter": 900}, f"weights/expert_{r}.pth")
# the last sync of this one was cut off
os.truncate("weights/expert_1.pth", 130048)
