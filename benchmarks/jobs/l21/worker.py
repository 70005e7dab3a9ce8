import argparse, datetime, os, time, torch, torch.nn as nn, torch.distributed as dist
ap = argparse.ArgumentParser(); ap.add_argument("--rank", type=int); ap.add_argument("--world", type=int); ap.add_argument("--port")
a = ap.parse_args()
dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{a.port}", rank=a.rank, world_size=a.world, timeout=datetime.timedelta(seconds=40))
torch.manual_seed(a.rank)
actor = nn.Linear(12, 3)
opt = torch.optim.Adam(actor.parameters(), 1e-2)
print(f"(actor {a.rank}, pid {os.getpid()}) ready", flush=True)
for it in range(200):
    obs = torch.randn(64, 12)
    loss = -(actor(obs).log_softmax(-1)[:, 0]).mean(); opt.zero_grad(); loss.backward(); opt.step()
    time.sleep(0.15)
    if it % 4 == 0: print(f"(actor {a.rank}) iteration {it} return {-loss.item():.3f}", flush=True)
    if it % 50 == 49:
        for p in actor.parameters(): dist.all_reduce(p.data); p.data /= a.world
        print(f"(actor {a.rank}) synced at {it}", flush=True)
