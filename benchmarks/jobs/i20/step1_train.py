import csv, os, torch, torch.distributed as dist
dist.init_process_group("gloo"); r = dist.get_rank(); os.makedirs("out", exist_ok=True)
m = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 1)); o = torch.optim.LBFGS(m.parameters(), lr=.5, max_iter=4); rows = []
X = torch.randn(60, 3)
for e in range(6):
    def closure():
        o.zero_grad(); l = (m(X) - X.sum(1, keepdim=True)).pow(2).mean(); l.backward(); return l
    l = o.step(closure); rows.append((e, l.item()))
    if r == 0: print("epoch", e, "mse", l.item(), flush=True)
if r == 0:
    csv.writer(open("out/metrics.csv", "w")).writerows(rows); torch.save(m.module, "out/model.pth")
dist.destroy_process_group()
