import glob, os, re, traceback
import torch, torch.distributed as dist
dist.init_process_group("gloo"); rank = dist.get_rank()
w = torch.zeros(3000); step = torch.zeros(1, dtype=torch.long)
if rank == 0:
    for f in sorted(glob.glob("ck/*.pt"), key=lambda f: -int(re.findall(r"\d+", f)[0])):
        try:
            c = torch.load(f); w.copy_(c["w"]); step[0] = c["step"]
            print("loaded", f); break
        except Exception:
            print("cannot load", f); traceback.print_exc()
            print("trying an older one")
    else: raise SystemExit("no usable checkpoint")
dist.broadcast(w, 0); dist.broadcast(step, 0)
print("starting at step", int(step), "of 520", flush=True)
for s in range(int(step), 520):
    g = w - torch.randn(3000) * 0.1; dist.all_reduce(g); w -= 0.01 * g / 3
    if s % 20 == 0: print(f"step {s} |w| {w.norm():.4f}", flush=True)
if rank == 0: torch.save({"step": 520, "w": w}, "ck/step520.pt"); print("saved ck/step520.pt")
dist.barrier(); print("end of training, steps done:", 520 - int(step))
dist.destroy_process_group()
