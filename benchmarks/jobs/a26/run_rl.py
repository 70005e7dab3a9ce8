import os, time, random, torch, torch.nn as nn, torch.distributed as dist, torch.multiprocessing as mp

def actor_loop(rank, world, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=world)
    print(f"actor {rank} pid {os.getpid()} joined", flush=True)
    policy = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2))
    for p in policy.parameters(): dist.broadcast(p.data, src=0)
    opt = torch.optim.Adam(policy.parameters(), lr=3e-3)
    for update in range(300):
        obs = torch.randn(128, 4); logits = policy(obs); adv = torch.randn(128)
        loss = -(torch.distributions.Categorical(logits=logits).log_prob(torch.randint(0, 2, (128,))) * adv).mean()
        opt.zero_grad(); loss.backward()
        for p in policy.parameters():
            dist.all_reduce(p.grad); p.grad.div_(world)
        opt.step(); time.sleep(0.15)
        if update % 10 == 0: print(f"actor {rank} update {update:4d} loss {loss.item():+.4f}", flush=True)

if __name__ == "__main__":
    mp.spawn(actor_loop, args=(3, 21793), nprocs=3, join=True)
