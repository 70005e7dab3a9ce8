import os, time, torch, torch.distributed as dist
from telemetry import Pusher
rank, world = (int(os.environ["OMPI_COMM_WORLD_" + k]) for k in ("RANK", "SIZE"))
dist.init_process_group("gloo", rank=rank, world_size=world)
metrics = {}
Pusher("http://127.0.0.1:9091/metrics/job/ppo", metrics, f"pusher-{rank}").start()
pi = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(5, 3)); o = torch.optim.Adam(pi.parameters(), 0.02)
for it in range(14):
    obs = torch.randn(64, 5); d = torch.distributions.Categorical(logits=pi(obs)); act = d.sample()
    rew = (act == obs[:, :3].argmax(1)).float()
    loss = -(d.log_prob(act) * (rew - rew.mean())).mean(); o.zero_grad(); loss.backward(); o.step()
    metrics.update(it=it, reward=rew.mean().item()); time.sleep(0.1)
    print(f"it {it:02d} reward {rew.mean():.3f} entropy {d.entropy().mean():.3f}")
dist.destroy_process_group()
