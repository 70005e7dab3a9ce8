import argparse, socket, time, torch, torch.distributed as dist
p = argparse.ArgumentParser(); p.add_argument("--feed", type=int); a = p.parse_args()
dist.init_process_group("gloo"); r = dist.get_rank()
def get(i):
    for k in range(40):
        try:
            with socket.create_connection(("127.0.0.1", a.feed), 3) as s:
                s.sendall(f"{i}\n".encode()); return torch.tensor([float(v) for v in s.makefile().readline().split()]).view(2, 8)
        except (OSError, RuntimeError) as e:
            print(f"rank{r} batch {i}: {type(e).__name__}: {e}; try {k+1}", flush=True); time.sleep(.7)
    raise SystemExit("feeder is gone")
m = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 8)); o = torch.optim.SGD(m.parameters(), .1)
for i in range(14):
    x = get(i); l = (m(x) - x).pow(2).mean(); o.zero_grad(); l.backward(); o.step()
    if r == 0: print(f"step {i} loss {l.item():.4f}", flush=True)
dist.destroy_process_group()
