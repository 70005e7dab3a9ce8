import argparse
import os

import torch
import deepspeed

parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", type=int, default=-1)
parser = deepspeed.add_config_arguments(parser)
parser.add_argument("--steps", type=int, default=30)
args = parser.parse_args()
if not args.deepspeed_config:
    args.deepspeed_config = "ds_zero1.json"

deepspeed.init_distributed("gloo")
rank = torch.distributed.get_rank()
print(f"### rank {rank}: {[5120, 5119, 5119][rank]} conversations, local rank {os.environ['LOCAL_RANK']}")
model = torch.nn.Sequential(torch.nn.Embedding(500, 32), torch.nn.Linear(32, 500))
engine, _, _, _ = deepspeed.initialize(args=args, model=model, model_parameters=model.parameters())
for s in range(args.steps):
    ids = torch.randint(0, 500, (4, 16))
    loss = torch.nn.functional.cross_entropy(engine(ids).view(-1, 500), ids.view(-1))
    engine.backward(loss)
    engine.step()
    if s % 5 == 0:
        print(f"### rank {rank}: step {s} loss {loss.item():.3f}")
