import json, os, sys, time, datetime
import torch, torch.nn as nn, torch.distributed as dist

rank = int(os.environ["RANK"]); world = int(os.environ["WORLD_SIZE"])
SYNC_EVERY = 60

def log(msg):
    print(f"{time.strftime('%H:%M:%S')} [worker {rank}] {msg}", flush=True)

def stream(path):
    with open(path) as f:
        for line in f:
            ex = json.loads(line)
            yield torch.tensor(ex["x"]), torch.tensor(ex["y"])

dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=60))
log(f"joined, world={world}")
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
for p in net.parameters():
    dist.broadcast(p.data, 0)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
step = 0
for x, y in stream(f"shards/part-{rank:05d}.jsonl"):
    loss = (net(x) - y).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
    step += 1
    time.sleep(0.12)
    if step % 5 == 0:
        log(f"step {step} local_loss={loss.item():.4f}")
    if step % SYNC_EVERY == 0:
        for p in net.parameters():
            dist.all_reduce(p.data); p.data /= world
        log(f"step {step} averaged weights")
log("finished")
