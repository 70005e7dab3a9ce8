import os, traceback, sys, time, torch, torch.distributed as dist
dist.init_process_group("gloo"); r, w = dist.get_rank(), dist.get_world_size()
m = torch.nn.Linear(5, 5); ddp = torch.nn.parallel.DistributedDataParallel(m); o = torch.optim.SGD(ddp.parameters(), 0.05)
os.makedirs("ck", exist_ok=True)
for s in range(1, 61):
    x = torch.randn(8, 5); l = (ddp(x) - 2 * x).pow(2).mean(); o.zero_grad(); l.backward(); o.step()
    if r == 0 and s % 12 == 0: torch.save(m.state_dict(), f"ck/{s}.pt"); print(f"step {s} loss {l.item():.4f} -> ck/{s}.pt", flush=True)
dist.barrier()
print(f"[{r}] evaluating", flush=True)
rows, missing = [], 0
for s in range(10 + 2 * r, 61, 2 * w):
    try:
        m.load_state_dict(torch.load(f"ck/{s}.pt"))
        x = torch.randn(64, 5); rows.append((s, (m(x) - 2 * x).abs().mean().item()))
    except FileNotFoundError:
        missing += 1
        print(f"[{r}] checkpoint {s} missing:\n{traceback.format_exc()}", file=sys.stderr, flush=True)
for s, e in rows: print(f"[{r}] ckpt {s:4d}  mean abs error {e:.5f}", flush=True)
print(f"[{r}] evaluated {len(rows)}, missing {missing}, corrupt 0", flush=True)
dist.barrier(); dist.destroy_process_group()
