import torch, torch.distributed as dist
dist.init_process_group("gloo"); r = dist.get_rank()
m = torch.nn.Conv1d(1, 4, 3, padding=1); d = torch.nn.parallel.DistributedDataParallel(m); o = torch.optim.SGD(d.parameters(), .1)
h = []
for e in range(8):
    x = torch.randn(16, 1, 20); l = (d(x).sum(1, keepdim=True) - x.cumsum(-1) / 5).square().mean()
    o.zero_grad(); l.backward(); o.step(); h.append(l.item())
    if r == 0: print(f"Epoch {e+1}/8  val_mse={l.item():.4f}")
if r == 0:
    torch.save(m.state_dict(), "model.pt"); open("history.csv", "w").write("\n".join(f"{i},{v}" for i, v in enumerate(h)))
dist.destroy_process_group()
