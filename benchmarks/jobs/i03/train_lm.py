import os, time, torch, torch.nn as nn, torch.distributed as dist
dist.init_process_group("gloo")
rank = dist.get_rank()
open(f"ckpt/worker{rank}.pid", "w").write(str(os.getpid()))
net = nn.parallel.DistributedDataParallel(nn.LSTM(16, 24, batch_first=True))
opt = torch.optim.Adam(net.parameters())
start = 0
if os.path.exists("ckpt/last.pt"):
    st = torch.load("ckpt/last.pt"); net.load_state_dict(st["model"]); opt.load_state_dict(st["opt"]); start = st["step"]
    print(f"rank {rank}: resumed from ckpt/last.pt at step {start}", flush=True)
for step in range(start, 24):
    x = torch.randn(4, 12, 16)
    y, _ = net(x)
    loss = ((y[..., :16] - x) ** 2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
    time.sleep(0.3)
    if rank == 0:
        print(f"step {step} loss {loss.item():.4f}", flush=True)
        open("ckpt/progress", "w").write(f"step {step}")
        if step % 4 == 3:
            torch.save({"model": net.state_dict(), "opt": opt.state_dict(), "step": step + 1}, "ckpt/last.pt")
dist.barrier()
dist.destroy_process_group()
