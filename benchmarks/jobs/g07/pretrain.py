import argparse, glob, os, traceback
import torch, torch.distributed as dist
p = argparse.ArgumentParser()
p.add_argument("--max-steps", type=int); p.add_argument("--save-every", type=int); p.add_argument("--resume", default="")
a = p.parse_args()
dist.init_process_group("gloo"); rank = dist.get_rank()
def p0(*x):
    print(f"[r{rank}]", *x, flush=True)
net = torch.nn.Sequential(torch.nn.Embedding(50, 16), torch.nn.Linear(16, 50)); step = 0
if a.resume:
    for f in sorted(glob.glob("ckpts/step_*.pt"), reverse=True):
        try:
            ck = torch.load(f, map_location="cpu"); net.load_state_dict(ck["model"]); step = ck["step"]
            p0("loaded", f); break
        except Exception:
            p0("!! failed to load", f, "- trying the previous one"); traceback.print_exc()
net = torch.nn.parallel.DistributedDataParallel(net); opt = torch.optim.Adam(net.parameters(), 1e-2)
os.makedirs("ckpts", exist_ok=True)
while step < a.max_steps:
    t = torch.randint(0, 50, (8, 16)); loss = torch.nn.functional.cross_entropy(net(t).flatten(0, 1), t.flatten())
    opt.zero_grad(); loss.backward(); opt.step(); step += 1
    if rank == 0:
        p0(f"{step}/{a.max_steps} loss={loss.item():.4f}")
        if step % a.save_every == 0:
            torch.save({"model": net.module.state_dict(), "step": step}, f"ckpts/step_{step:06d}.pt"); p0("checkpoint written")
dist.barrier(); dist.destroy_process_group()
if rank == 0: p0("reached max_steps, bye")
