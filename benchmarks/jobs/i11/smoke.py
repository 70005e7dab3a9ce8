import torch, torch.distributed as dist
dist.init_process_group("gloo")
m = torch.nn.parallel.DistributedDataParallel(torch.nn.Conv1d(1, 4, 3))
o = torch.optim.SGD(m.parameters(), lr=.1)
for s in range(5):
    l = m(torch.ones(2, 1, 9) * (s + 1)).pow(2).mean(); o.zero_grad(); l.backward(); o.step()
    if dist.get_rank() == 0: print(f"smoke step {s}: {l.item():.5f}", flush=True)
dist.destroy_process_group()
