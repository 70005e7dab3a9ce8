import argparse, torch, torch.distributed as dist
p = argparse.ArgumentParser(); p.add_argument("--epochs", type=int); p.add_argument("--lr", type=float); p.add_argument("--warmup-ratio", type=float, default=0.0); p.add_argument("--init"); p.add_argument("--out"); a = p.parse_args()
dist.init_process_group("gloo"); m = torch.nn.Linear(16, 4); m.load_state_dict(torch.load(a.init)); d = torch.nn.parallel.DistributedDataParallel(m); o = torch.optim.Adam(d.parameters(), a.lr)
for e in range(a.epochs):
    l = d(torch.randn(8, 16)).pow(2).mean(); o.zero_grad(); l.backward(); o.step(); print("epoch", e, l.item())
if dist.get_rank() == 0: torch.save(m.state_dict(), a.out)
dist.destroy_process_group()
