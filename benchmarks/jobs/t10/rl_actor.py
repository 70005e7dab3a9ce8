import argparse
import os
import time

import torch
import torch.distributed as dist

ap = argparse.ArgumentParser()
ap.add_argument("--iters", type=int)
a = ap.parse_args()
dist.init_process_group("gloo")
r = dist.get_rank()
torch.manual_seed(500 + r)
env = ["pendulum", "cartpole", "acrobot", "hopper-lite"][r]
print(f"[actor-{r}] env={env} seed={500 + r}", flush=True)
pi = torch.nn.Sequential(torch.nn.Linear(8, 64), torch.nn.Tanh(), torch.nn.Linear(64, 2))
for p in pi.parameters():
    dist.broadcast(p.data, 0)
opt = torch.optim.Adam(pi.parameters(), 1e-3)
t0 = time.time()
for it in range(a.iters):
    obs = torch.randn(256, 8)
    act = torch.distributions.Categorical(logits=pi(obs))
    u = act.sample()
    rew = (obs[:, r] > 0).float() * u + (obs[:, r] <= 0).float() * (1 - u)
    loss = -(act.log_prob(u) * (rew - rew.mean())).mean()
    opt.zero_grad()
    loss.backward()
    for p in pi.parameters():
        dist.all_reduce(p.grad)
        p.grad /= 4
    opt.step()
    time.sleep(0.02)
    if it % 5 == 0:
        print(f"[actor-{r}] it {it:6d} return {rew.mean().item():.3f} loss {loss.item():+.4f} fps {256 * (it + 1) / (time.time() - t0):.0f}", flush=True)
    if r == 0 and it % 60 == 59:
        torch.save(pi.state_dict(), "policy.pt")
        print(f"[actor-0] policy.pt written at it {it}", flush=True)
