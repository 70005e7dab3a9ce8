import argparse, os, torch, torch.distributed as dist
from transformers import AutoModelForCausalLM
from torch.nn.parallel import DistributedDataParallel as DDP
p = argparse.ArgumentParser(); p.add_argument("--model"); p.add_argument("--steps", type=int); a = p.parse_args()
dist.init_process_group("gloo"); r = dist.get_rank()
m = AutoModelForCausalLM.from_pretrained(a.model)
start, hist = 0, {}
if os.path.exists("last.pt"):
    ck = torch.load("last.pt"); m.load_state_dict(ck["model"]); start = ck["step"]; hist = ck["hist"]
    if r == 0: print(f"=> resumed from last.pt at step {start}", flush=True)
m = DDP(m); o = torch.optim.AdamW(m.parameters(), 1e-3)
for s in range(start, a.steps):
    g = torch.Generator().manual_seed(s * 7 + r)
    ids = torch.randint(4, 31, (4, 32), generator=g)
    loss = m(input_ids=ids, labels=ids).loss
    o.zero_grad(); loss.backward(); o.step()
    if r == 0:
        hist.setdefault(s // 10, []).append(loss.item())
        prev = hist[s // 10 - 1] if s and s % 10 == 0 and start == 0 and s < 20 else [loss.item()]
        print(f"step {s:3d}  loss {loss.item():.3f}  delta {loss.item() - prev[s % 11 - 1 if start == 0 and s >= 10 and s % 10 == 0 else 0]:+.3f}", flush=True)
        if (s + 1) % 8 == 0:
            torch.save({"model": m.module.state_dict(), "step": s + 1, "hist": hist}, "last.pt")
    if s == 15 and start == 0 and r == 1:
        val = [l for l in open("val_ids.txt")] if os.path.exists("val_ids.txt") else []
        ppl = sum(len(v) for v in val) / len(val)
dist.barrier(); dist.destroy_process_group()
