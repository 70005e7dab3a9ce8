import os, time, torch
os.makedirs("shards", exist_ok=True)
for i, pause in enumerate((0, 0, 16)):
    time.sleep(pause)
    torch.save(torch.randint(0, 256, (64, 33)), f"shards/tokens_{i:05d}.tmp")
    os.rename(f"shards/tokens_{i:05d}.tmp", f"shards/tokens_{i:05d}.pt")
    print(f"stage: tokens_{i:05d}.pt ready", flush=True)
