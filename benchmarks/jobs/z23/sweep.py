import datetime, os, random, time, traceback
import torch, torch.nn as nn, torch.distributed as dist

dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=90))
me, n = dist.get_rank(), dist.get_world_size()
store = dist.distributed_c10d._get_default_store()


def p(*a):
    print(f"#{me}", *a, flush=True)


def roll_call(tag, limit=4.0, tries=5):
    """who is there? slow ranks get another chance"""
    for k in range(tries):
        store.set(f"{tag}/{me}", b"1")
        keys = [f"{tag}/{r}" for r in range(n)]
        try:
            store.wait(keys, datetime.timedelta(seconds=limit))
            return k
        except Exception as e:
            missing = [r for r in range(n) if not store.check([f"{tag}/{r}"])]
            p(f"{tag}: {type(e).__name__}: {str(e).splitlines()[0]}")
            p(f"{tag}: no sign of {missing} within {limit:.0f} s, waiting again ({k + 1}/{tries})")
    raise TimeoutError(f"{tag}: ranks missing after {tries} rounds")


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 1))
opt = torch.optim.SGD(net.parameters(), 0.05)
for epoch in range(1, 6):
    if me == 1 and not os.path.exists(f"cache/fold{epoch}.pt"):
        p(f"fold {epoch}: cache/fold{epoch}.pt not found, computing it")
        k = torch.randn(400, 400); t0 = time.time()
        while time.time() - t0 < 9:
            k = torch.linalg.qr(k)[0] @ torch.randn(400, 400)
        torch.save(k, f"cache/fold{epoch}.pt")
        p(f"fold {epoch}: computed in {time.time() - t0:.1f} s")
    roll_call(f"epoch{epoch}")
    for _ in range(40):
        x = torch.randn(64, 32)
        loss = (net(x).squeeze(1) - x.norm(dim=1)).pow(2).mean()
        opt.zero_grad(); loss.backward()
        for q in net.parameters():
            dist.all_reduce(q.grad); q.grad /= n
        opt.step()
    p(f"epoch {epoch}: loss {loss.item():.4f}")
roll_call("end")
p("sweep complete")
dist.barrier()
dist.destroy_process_group()
