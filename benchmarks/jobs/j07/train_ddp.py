import os, torch, torch.distributed as dist
from data import load_split
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
xs, ys = load_split(rank)
print(f"split {rank}: {len(xs)} samples, {len(xs)//8} batches", flush=True)
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(12, 32), torch.nn.ReLU(), torch.nn.Linear(32, 3)); opt = torch.optim.SGD(net.parameters(), .1)
for epoch in range(3):
    correct = torch.zeros(2)
    for i in range(len(xs) // 8):
        x, y = xs[i*8:i*8+8], ys[i*8:i*8+8]
        out = net(x); loss = torch.nn.functional.cross_entropy(out, y); opt.zero_grad(); loss.backward()
        flat = torch.cat([p.grad.flatten() for p in net.parameters()])
        dist.all_reduce(flat)
        o = 0
        for p in net.parameters():
            p.grad.copy_(flat[o:o+p.numel()].view_as(p) / world); o += p.numel()
        opt.step(); correct += torch.tensor([(out.argmax(1) == y).sum(), len(y)])
        if i % 4 == 0: print(f"epoch {epoch} batch {i} loss {loss.item():.3f}", flush=True)
    dist.all_reduce(correct)
    print(f"epoch {epoch} acc {correct[0]/correct[1]:.3f}", flush=True)
