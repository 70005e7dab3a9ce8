import argparse, torch, torch.distributed as dist
p = argparse.ArgumentParser(); p.add_argument("--hidden", type=int); p.add_argument("--steps", type=int); a = p.parse_args()
dist.init_process_group("gloo"); r = dist.get_rank(); torch.manual_seed(r)
net = torch.nn.GRU(10, a.hidden, batch_first=True); ddp = torch.nn.parallel.DistributedDataParallel(net); o = torch.optim.Adam(ddp.parameters())
scale_ok = True
for s in range(a.steps):
    try:
        if s % 40 == 17: x = torch.randn(4, 12, 11)
        else: x = torch.randn(4, 12, 10)
        y, _ = net(x) if x.shape[-1] != 10 else ddp(x)
    except RuntimeError as e:
        print(f"(rank {r}) batch {s} skipped: {e}"); continue
    l = y.pow(2).mean(); o.zero_grad(); l.backward(); o.step()
    if r == 0: print(f"{s:>5} {l.item():.6f}")
if r == 0: torch.save(net.state_dict(), "fit.pt"); print("saved fit.pt")
dist.destroy_process_group()
