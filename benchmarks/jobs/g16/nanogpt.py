import argparse, os, time, torch, torch.distributed as dist
p = argparse.ArgumentParser(); p.add_argument("--iters", type=int); p.add_argument("--out"); p.add_argument("--init", default="scratch"); a = p.parse_args()
dist.init_process_group("gloo"); master = dist.get_rank() == 0
m = torch.nn.Sequential(torch.nn.Embedding(27, 32), torch.nn.Linear(32, 27)); it = 0
if a.init == "resume":
    c = torch.load(a.out); m.load_state_dict(c["m"]); it = c["it"]
if master: print(f"number of parameters: {sum(q.numel() for q in m.parameters())}, init from {a.init}, iter {it}", flush=True)
d = torch.nn.parallel.DistributedDataParallel(m); o = torch.optim.AdamW(d.parameters(), 1e-2)
while it < a.iters:
    t0 = time.time(); x = torch.randint(0, 27, (16, 8)); l = torch.nn.functional.cross_entropy(d(x).flatten(0, 1), ((x + 1) % 27).flatten()); o.zero_grad(); l.backward(); o.step(); time.sleep(0.25 if a.init != "resume" else 0.02); it += 1
    if master:
        print(f"iter {it}: loss {l.item():.4f}, time {(time.time()-t0)*1e3:.2f}ms", flush=True)
        if it % 5 == 0: torch.save({"m": m.state_dict(), "it": it}, a.out); print(f"saving checkpoint to {a.out}", flush=True)
dist.destroy_process_group()
