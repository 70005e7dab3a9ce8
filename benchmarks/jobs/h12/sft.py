import os, torch, torch.distributed as dist
from teamlog import banner
r = int(os.environ["OMPI_COMM_WORLD_RANK"]); w = int(os.environ["OMPI_COMM_WORLD_SIZE"])
dist.init_process_group("gloo", init_method="tcp://127.0.0.1:29822", rank=r, world_size=w)
banner(r)
t = torch.ones(8)
for step in range(4):
    dist.all_reduce(t); t /= w
    if r == 0: print("step", step, "ok", flush=True)

def evaluate():
    from rouge_lite import rouge_l
    s = torch.tensor([rouge_l("the river".split(), "the town".split())])
    dist.all_reduce(s)
    return s.item() / w

score = evaluate()
if r == 0: print("rouge", score)
dist.destroy_process_group()
