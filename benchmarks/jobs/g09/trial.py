import sys, torch, torch.distributed as dist
dim, heads, lr = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
dist.init_process_group("gloo"); torch.manual_seed(1)
m = torch.nn.parallel.DistributedDataParallel(torch.nn.TransformerEncoderLayer(dim, heads, dim * 2, batch_first=True))
o = torch.optim.SGD(m.parameters(), lr)
for s in range(6):
    x = torch.randn(4, 8, dim); l = (m(x) - x).pow(2).mean(); o.zero_grad(); l.backward(); o.step()
    if dist.get_rank() == 0: print(f"  s={s} l={l.item():.4g}")
    assert torch.isfinite(l), "loss diverged"
if dist.get_rank() == 0: print(f"final_loss={l.item():.5f}")
dist.destroy_process_group()
