import sys, torch, torch.distributed as dist
d = torch.load(sys.argv[1]); dist.init_process_group("gloo"); r = dist.get_rank()
m = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(torch.nn.Embedding(d["v"], 16), torch.nn.Linear(16, d["v"]))); o = torch.optim.Adam(m.parameters(), 2e-2)
for s in range(40):
    i = torch.randint(0, len(d["ids"]) - 1, (32,)); l = torch.nn.functional.cross_entropy(m(d["ids"][i]), d["ids"][i + 1]); o.zero_grad(); l.backward(); o.step()
    if r == 0 and s % 8 == 7: print(f"[lm] {s+1}/40 nll={l.item():.3f}", flush=True)
if r == 0: torch.save(m.module, "lm.pt")
dist.destroy_process_group()
