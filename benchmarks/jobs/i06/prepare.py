import os, torch
os.makedirs("etat", exist_ok=True)
torch.manual_seed(0)
m = torch.nn.Linear(20, 4)
for p in (20, 40):
    torch.save({"modele": m.state_dict(), "pas": p}, f"etat/pas_{p:06d}.pt")
