import argparse, faulthandler, json, os, time, urllib.request
import torch, torch.distributed as dist

ap = argparse.ArgumentParser(); ap.add_argument("--reward"); a = ap.parse_args()
dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(rank)


def reward(x):
    req = urllib.request.Request(a.reward, data=json.dumps({"x": x.tolist()}).encode())
    with urllib.request.urlopen(req) as r:
        return torch.tensor(json.loads(r.read()))


w = torch.zeros(16)
for it in range(500):
    faulthandler.dump_traceback_later(7 + rank, exit=False)
    x = torch.randn(8, 16)
    t = time.time()
    rew = reward(x)
    dt = time.time() - t
    g = (rew[:, None] * x).mean(0)
    dist.all_reduce(g)
    w += 0.1 * g / dist.get_world_size()
    print(f"[rank{rank}] iter {it} reward {rew.mean():+.3f} ({dt*1e3:.0f} ms)", flush=True)
print("done")
