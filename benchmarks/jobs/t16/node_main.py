import logging
import os
import sys
from datetime import timedelta

import torch
import torch.distributed as dist

node = int(os.environ["NODE"])
N = 4
logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)-7s node%(node)s %(message)s")
log = logging.LoggerAdapter(logging.getLogger("boot"), {"node": node})

store = dist.TCPStore("127.0.0.1", 47535, None, node == 0, timedelta(seconds=30), wait_for_workers=False)
store.set(f"ready/{node}", "1")
log.info("ready, waiting for the other nodes")
for attempt in range(1, 9):
    missing = [k for k in range(N) if not store.check([f"ready/{k}"])]
    if not missing:
        break
    try:
        store.wait([f"ready/{k}" for k in missing], timedelta(seconds=3))
    except Exception as e:
        log.error("attempt %d/8: nodes %s did not report", attempt, missing, exc_info=e)
else:
    log.critical("giving up")
    sys.exit(3)
log.info("all %d nodes reported", N)
dist.init_process_group("gloo", store=dist.PrefixStore("pg", store), rank=node, world_size=N)
torch.manual_seed(node)
w = torch.nn.Linear(20, 1)
for p in w.parameters():
    dist.broadcast(p.data, 0)
opt = torch.optim.Adam(w.parameters(), 0.02)
rows = [800, 810, 795, 640][node]
print(f"node{node}: rows {rows}")
true = torch.linspace(-1, 1, 20)
for ep in range(60):
    x = torch.randn(rows, 20)
    loss = (w(x).squeeze(1) - x @ true).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    for p in w.parameters():
        dist.all_reduce(p.grad)
        p.grad /= N
    opt.step()
    print(f"node{node}: epoch {ep + 1}/60 mse {loss.item():.5f}")
if node == 0:
    torch.save(w.state_dict(), "linear.pt")
    print("node0: model written to linear.pt")
dist.barrier()
dist.destroy_process_group()
log.info("done")
