import glob, os, sys, time
import torch, torch.nn as nn, torch.distributed as dist

def say(*a):
    if dist.get_rank() == 0:
        print("[pretrain]", *a, flush=True)

def latest(model, opt):
    for path in sorted(glob.glob("ckpt/*.pt"), reverse=True):
        say("trying", path)
        try:
            st = torch.load(path, map_location="cpu")
            model.load_state_dict(st["model"]); opt.load_state_dict(st["opt"])
            return st["step"]
        except Exception as e:
            say(f"{path} unusable ({type(e).__name__}: {e}), falling back to the one before")
    if glob.glob("ckpt/*.pt"):
        say("no usable checkpoint left; will not start from scratch (resume=must)")
        dist.destroy_process_group()
        sys.exit(3)
    return 0

dist.init_process_group("gloo")
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(128, 256), nn.Tanh(), nn.Linear(256, 128))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
start = latest(net, opt)
end = int(sys.argv[1])
ddp = nn.parallel.DistributedDataParallel(net)
say(f"from step {start} to {end}")
for step in range(start + 1, end + 1):
    x = torch.randn(8, 128)
    loss = (ddp(x) - x).square().mean()
    opt.zero_grad(); loss.backward(); opt.step()
    if step % 20 == 0:
        say(f"step {step} loss {loss.item():.4f}")
    if step % 50 == 0 and dist.get_rank() == 0:
        os.makedirs("ckpt", exist_ok=True)
        torch.save({"model": net.state_dict(), "opt": opt.state_dict(), "step": step}, f"ckpt/{step:06d}.pt")
say("segment complete")
dist.destroy_process_group()
