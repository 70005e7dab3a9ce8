import argparse, os, time, torch, torch.distributed as dist
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int); a = p.parse_args()
dist.init_process_group("gloo"); r = dist.get_rank(); open(f"w{r}.pid", "w").write(str(os.getpid()))
m = torch.nn.Linear(8, 1); opt = torch.optim.Adam(m.parameters(), lr=.05); start = 0
if os.path.exists("ckpt.pt"):
    c = torch.load("ckpt.pt"); m.load_state_dict(c["m"]); opt.load_state_dict(c["o"]); start = c["s"]; print(f"(rank {r}) resumed at step {start}", flush=True)
d = torch.nn.parallel.DistributedDataParallel(m)
for s in range(start, a.steps):
    x = torch.randn(16, 8); loss = (d(x) - x.sum(1, keepdim=True)).pow(2).mean(); opt.zero_grad(); loss.backward(); opt.step(); time.sleep(.15)
    if s % 10 == 9:
        if r == 0:
            torch.save({"m": m.state_dict(), "o": opt.state_dict(), "s": s + 1}, "ckpt.tmp"); os.replace("ckpt.tmp", "ckpt.pt"); open("ckpt.step", "w").write(str(s + 1))
        print(f"(rank {r}) step {s+1}/{a.steps} loss {loss.item():.4f}", flush=True)
dist.barrier(); print(f"(rank {r}) training complete", flush=True); dist.destroy_process_group()
