import argparse, json, os, random, time, urllib.request
import torch, torch.distributed as dist, torch.nn as nn

ap = argparse.ArgumentParser(); ap.add_argument("--scorer"); a = ap.parse_args()
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
dist.init_process_group("gloo")
random.seed(100 + rank); torch.manual_seed(0)
policy = nn.Linear(32, 512)
opt = torch.optim.Adam(policy.parameters(), 1e-3)
P = f"[rollout-{rank}]"


def ask(ids, tries=4):
    req = urllib.request.Request(a.scorer, json.dumps({"ids": ids}).encode(), {"Content-Type": "application/json"})
    for t in range(tries):
        try:
            with urllib.request.urlopen(req, timeout=10) as r:
                return json.load(r)["reward"]
        except OSError as e:
            print(f"{P} scorer request failed (try {t + 1}/{tries}): {e!r}")
            if t + 1 == tries:
                raise
            time.sleep(1.0 + rank * 0.3)


print(f"{P} up, seed {100 + rank}, prompts file part {rank} ({random.randint(900, 1400)} prompts)")
grow = 40
for it in range(60):
    n = random.randint(grow // 2, grow + it * 3)
    ids = [random.randrange(512) for _ in range(n)]
    r = ask(ids)
    logp = policy(torch.randn(n, 32)).log_softmax(-1)[range(n), ids].mean()
    loss = -(r * logp)
    opt.zero_grad(); loss.backward()
    for p in policy.parameters():
        dist.all_reduce(p.grad); p.grad /= world
    opt.step()
    extra = f" kl={random.random() * 0.02:.4f} lr=1e-3" if rank == 0 else ""
    print(f"{P} iter {it:3d} len={n:3d} reward={r:+.4f} loss={loss.item():+.4f}{extra}")
dist.destroy_process_group()
