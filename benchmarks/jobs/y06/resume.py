import os, sys, torch, torch.distributed as dist
from net import build

def info(*a): print("resume>", *a, flush=True)

dist.init_process_group("gloo")
rank = dist.get_rank()
m = build()
path = os.path.join(sys.argv[1], f"mp_rank_{rank:02d}.pt")
info("reading", path, os.path.getsize(path), "bytes")
part = torch.load(path, weights_only=True)
info("got", len(part["w"]), "tensors at step", part["step"])
names = [None, None]
dist.all_gather_object(names, sorted(part["w"]))
sd = m.state_dict()
for src, ks in enumerate(names):
    for k in ks:
        if src == rank: sd[k].copy_(part["w"][k])
        dist.broadcast(sd[k], src)
ddp = torch.nn.parallel.DistributedDataParallel(m)
opt = torch.optim.AdamW(ddp.parameters(), lr=1e-3)
for s in range(part["step"], part["step"] + 50):
    x = torch.randint(0, 200, (4, 32)); l = ddp(input_ids=x, labels=x).loss
    opt.zero_grad(); l.backward(); opt.step()
    if s % 10 == 0: info("step", s, "loss", round(l.item(), 3))
dist.destroy_process_group()
