import os, torch
for k, (n, parts) in enumerate([("gpu-a07", 6), ("gpu-a08", 6), ("gpu-a11", 4)]):
    os.makedirs(f"scratch/{n}", exist_ok=True)
    for p in range(parts):
        torch.save(torch.randn(20, 1000), f"scratch/{n}/emb_{k}_{p}.pt")
    if parts == 6:
        open(f"scratch/{n}/STAGED", "w").close()
