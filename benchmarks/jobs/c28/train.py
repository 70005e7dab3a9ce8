import argparse, time, torch, deepspeed, os
from tqdm import tqdm
p = argparse.ArgumentParser(); p.add_argument("--local_rank", type=int); p = deepspeed.add_config_arguments(p); a = p.parse_args()
deepspeed.init_distributed("gloo")
net = torch.nn.Sequential(*[torch.nn.Linear(128, 128) for _ in range(4)])
eng, *_ = deepspeed.initialize(args=a, model=net, model_parameters=net.parameters())
bar = tqdm(range(500), disable=eng.global_rank != 0)
for i in bar:
    bar.set_postfix(loss=f"{l.item():.4f}")
