import os, time
import torch, torch.nn as nn, torch.distributed as dist
R, W = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
def say(msg): print(f"[R{R}/{W}] {msg}", flush=True)

def sync_grads(m):
    for p in m.parameters():
        dist.all_reduce(p.grad); p.grad /= W

def gather_samples(x):
    out = [torch.empty_like(x) for _ in range(W)]
    dist.all_gather(out, x)
    return torch.cat(out)

def main():
    dist.init_process_group("gloo")
    torch.manual_seed(R)
    m = nn.Sequential(nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 24))
    for p in m.parameters(): dist.broadcast(p.data, 0)
    opt = torch.optim.SGD(m.parameters(), 0.1)
    best = float("inf")
    for step in range(1, 61):
        x = torch.randn(16, 24)
        loss = (m(x) - x).pow(2).mean()
        opt.zero_grad(); loss.backward(); sync_grads(m); opt.step()
        if step % 5 == 0:
            say(f"step {step} loss {loss.item():.5f}")
        if step >= 20 and loss.item() < THRESH:
            say(f"loss below {THRESH}, collecting samples at step {step}")
            gather_samples(m(x).detach())
        time.sleep(0.03)

THRESH = 0.89
if __name__ == "__main__":
    main()
