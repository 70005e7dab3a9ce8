import torch, os
os.makedirs("feats", exist_ok=True)
for i in range(3):
    g = torch.Generator().manual_seed(i)
    x = torch.rand(320, 20, generator=g)
    counts = torch.randint(0, 40 if i == 1 else 4000, (320, 1), generator=g).float()
    torch.save(torch.cat([x, counts.log()], 1), f"feats/{i}.pt")
