import argparse, os, json
import torch, deepspeed
import torch.distributed as dist
p = argparse.ArgumentParser()
p.add_argument("--local_rank", type=int, default=-1)
p.add_argument("--mix", default="mix.json")
p = deepspeed.add_config_arguments(p)
args = p.parse_args()
deepspeed.init_distributed("gloo")
rank = dist.get_rank()
mix = json.load(open(args.mix))

def sample_batch(step, dim=32):
    src = mix["sources"][rank % len(mix["sources"])]
    weights = src["weights"]
    if step >= mix["warmup_steps"]:
        weights = src["weights_after_warmup"]
    assert abs(sum(weights) - 1.0) < 1e-6, f"mixture weights of {src['name']} sum to {sum(weights):.3f}"
    k = torch.multinomial(torch.tensor(weights), 8, replacement=True)
    return torch.nn.functional.one_hot(k, dim).float()

net = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 32))
opt = torch.optim.SGD(net.parameters(), 0.05)
for q in net.parameters():
    dist.broadcast(q.data, 0)
for step in range(30):
    x = sample_batch(step)
    loss = (net(x) - x).pow(2).mean()
    opt.zero_grad(); loss.backward()
    for q in net.parameters():
        dist.all_reduce(q.grad)
    opt.step()
    print(f"step={step} rank={rank} loss={loss.item():.5f}", flush=True)
