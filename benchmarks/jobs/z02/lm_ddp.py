# 4-process char LM, launched by mpirun (no torchrun on the old cluster)
import os, sys, time, datetime
import torch, torch.nn as nn, torch.distributed as dist

R = int(os.environ["OMPI_COMM_WORLD_RANK"]); W = int(os.environ["OMPI_COMM_WORLD_SIZE"])
os.environ["RANK"], os.environ["WORLD_SIZE"] = str(R), str(W)
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=30))
open(f"run/rank{R}.pid", "w").write(str(os.getpid()))

def say(*x):
    print(f"<{R}/{W}>", *x, flush=True)

torch.manual_seed(1234)
text = torch.randint(0, 64, (200_000,), generator=torch.Generator().manual_seed(R))
model = nn.Sequential(nn.Embedding(64, 48), nn.Flatten(1), nn.Linear(48 * 16, 256), nn.GELU(), nn.Linear(256, 64))
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
say("params", sum(p.numel() for p in model.parameters()), "host", os.uname().nodename, "pid", os.getpid())

history = []
for step in range(1, 401):
    ix = torch.randint(0, len(text) - 17, (64,))
    x = torch.stack([text[i:i + 16] for i in ix]); y = torch.stack([text[i + 16] for i in ix])
    loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad(); loss.backward()
    for p in model.parameters():
        dist.all_reduce(p.grad); p.grad /= W
    opt.step()
    time.sleep(0.05)
    if R == 1 and step > 40:
        history.append(torch.ones(6_000_000))
    say(f"step {step} loss {loss.item():.4f}")
say("finished")
dist.destroy_process_group()
