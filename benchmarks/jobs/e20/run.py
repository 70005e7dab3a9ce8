import sys, torch, torch.distributed as dist
import ckpt
dist.init_process_group("gloo")
r = dist.get_rank()
torch.manual_seed(3)
m = torch.nn.Linear(16, 16); opt = torch.optim.AdamW(m.parameters(), 1e-3)
first, last = 0, int(sys.argv[1])
if len(sys.argv) > 2:
    if r == 0: print("resuming from", sys.argv[2], flush=True)
    first = ckpt.load(sys.argv[2], r, m, opt)
    dist.barrier()
for step in range(first + 1, last + 1):
    l = (m(torch.randn(4, 16))).pow(2).mean(); opt.zero_grad(); l.backward()
    for p in m.parameters(): dist.all_reduce(p.grad)
    opt.step()
    if r == 0 and step % 10 == 0: print(f"{step:6d} | loss {l.item():.5f}", flush=True)
    if step % 20 == 0: ckpt.save(f"out/ckpt-{step}", r, m, opt, step); dist.barrier()
dist.destroy_process_group()
