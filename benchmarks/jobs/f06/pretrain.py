import argparse, torch, deepspeed

p = argparse.ArgumentParser()
p.add_argument("--local_rank", type=int, default=-1)
p = deepspeed.add_config_arguments(p)
args = p.parse_args()
deepspeed.init_distributed("gloo")
rank = torch.distributed.get_rank()
print(f"[rank {rank}] world size {torch.distributed.get_world_size()}", flush=True)
net = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 64))
engine, _, _, _ = deepspeed.initialize(args=args, model=net, model_parameters=net.parameters())
for it in range(20):
    x = torch.randn(4, 64)
    loss = ((engine(x) - x) ** 2).mean()
    engine.backward(loss)
    engine.step()
