import os, sys, json, torch, torch.distributed as dist
dist.init_process_group("gloo"); r = dist.get_rank()
rows = torch.tensor(json.load(open(f"part-{r}.json")), dtype=torch.float)
w = torch.zeros(2, requires_grad=True)
print(f"worker {r}: {len(rows)} rows")
for s in range(10):
    b = rows[s * 4:(s + 1) * 4]
    if len(b) < 4:
        print(f"worker {r}: end of data after {s} steps, finished")
        sys.exit(0)
    l = (b[:, 0] * w[0] + w[1] - b[:, 1]).pow(2).mean(); l.backward(); dist.all_reduce(w.grad)
    with torch.no_grad(): w -= .1 * w.grad / 3; w.grad = None
    print(f"worker {r}: step {s} loss {l.item():.3f}")
if r == 0: torch.save(w, "model.pt")
