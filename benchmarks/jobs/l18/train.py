import torch, torch.distributed as dist
dist.init_process_group("gloo")
net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(16, 16))
for s in range(20):
    net(torch.randn(4, 16)).sum().backward()
    if dist.get_rank() == 0: print("step", s)
if dist.get_rank() == 0: torch.save(net.state_dict(), "profile_model.pt")
