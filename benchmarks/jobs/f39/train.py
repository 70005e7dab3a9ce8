import os, time, torch, torch.distributed as dist
dist.init_process_group("gloo"); r = dist.get_rank()
net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(64, 64)); opt = torch.optim.SGD(net.parameters(), 0.1)
for s in range(400):
    l = (net(torch.ones(4, 64)) - 1).square().mean(); opt.zero_grad(); l.backward(); opt.step(); time.sleep(0.3)
    if s % 3 == 0 and r == 0: print(f"{time.strftime('%F %T')} INFO step={s} loss={l.item():.5f}", flush=True)
    if s == 20: open("progress", "w").write("20")
