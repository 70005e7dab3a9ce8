import json, os, signal, resource, sys, time
import torch, torch.distributed as dist
R = int(os.environ["RANK"])
def ev(**k): print(json.dumps({"src": f"rank{R}", "t": round(time.time(), 2), **k}), flush=True)
dist.init_process_group("gloo")
state = torch.load("state.pt") if os.path.exists("state.pt") else {"step": 0, "w": torch.zeros(50)}
ev(event="begin", step=state["step"]); w = state["w"]
base = int(open("/proc/self/statm").read().split()[0]) * 4096
resource.setrlimit(resource.RLIMIT_AS, (base + (900 << 20),) * 2)      # share of this rank
bs = 2 ** 22
for step in range(state["step"], 60):
    while True:
        try:
            x = torch.randn(bs, 50) if R == 1 else torch.randn(512, 50); break
        except RuntimeError as e:
            ev(level="error", event="alloc_failed", batch=bs, error=str(e).splitlines()[0]); bs //= 8
            ev(level="warning", event="batch_reduced", batch=bs)
    g = w - x[:512].mean(0); dist.all_reduce(g); w -= 0.05 * g
    if step % 5 == 0:
        ev(event="step", step=step, norm=round(w.norm().item(), 5))
        if R == 0: torch.save({"step": step, "w": w}, "state.tmp"); os.replace("state.tmp", "state.pt")
    if R == 1 and step == 33 and not os.path.exists("spot.seen"):
        open("spot.seen", "w").close(); ev(level="warning", event="spot_reclaim", note="instance is taken back"); os.kill(os.getpid(), signal.SIGKILL)
dist.barrier()
if R == 0: torch.save(w, "final.pt"); ev(event="saved", file="final.pt", steps=60)
dist.destroy_process_group()
