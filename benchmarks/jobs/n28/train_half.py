import argparse, json, sys, math, torch, torch.distributed as dist
p = argparse.ArgumentParser(); p.add_argument("--lr", type=float); a = p.parse_args()
dist.init_process_group("gloo"); r = dist.get_rank(); torch.manual_seed(0)
m = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1)).half()
m = torch.nn.parallel.DistributedDataParallel(m); o = torch.optim.SGD(m.parameters(), a.lr, momentum=.9)
bad, hist = 0, []
for s in range(200):
    x = torch.randn(16, 32).half(); l = (m(x)[:, 0] - 3 * x.sum(1)).pow(2).mean(); o.zero_grad(); l.backward(); o.step()
    t = l.detach().float(); dist.all_reduce(t); v = t.item() / 2; hist.append(v); bad = 0 if math.isfinite(v) else bad + 1
    if r == 0: print(f"step {s:3d} | loss {v:.5g} | lr {a.lr}", flush=True)
    if bad == 10: break
if r == 0:
    json.dump({"steps": s + 1, "last_loss": str(v), "best_loss": min(h for h in hist if math.isfinite(h)), "gave_up": bad == 10}, open("summary.json", "w"))
dist.destroy_process_group()
if bad == 10: sys.exit(4)
