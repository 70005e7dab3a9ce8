"""A tiny adapter under ZeRO-3 in a plain loop that saves by `Checkpoints`: what a test does to its disks is its own."""

from __future__ import annotations

import argparse
import os
import time

import deepspeed
import torch
from peft import LoraConfig, get_peft_model

from allranks.worker.deepspeed_loop import Checkpoints

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=100000)
parser.add_argument("--every", type=int, default=5)
parser.add_argument("--seconds", type=float, default=0.04)
parser.add_argument("--in-the-way", action="store_true", help="a file lies where the first checkpoint goes")
options = parser.parse_args()

deepspeed.init_distributed(dist_backend="gloo")
rank = torch.distributed.get_rank()
torch.manual_seed(0)
base = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
model = get_peft_model(base, LoraConfig(r=4, target_modules=["0", "2"]), autocast_adapter_dtype=False)
trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
config = {"train_micro_batch_size_per_gpu": 4, "zero_optimization": {"stage": 3}}
engine, *_ = deepspeed.initialize(
    model=model, config=config, optimizer=torch.optim.AdamW(trained, lr=1e-2), model_parameters=trained
)
checkpoints = Checkpoints(engine, every=options.every)
begun = checkpoints.resume()
if options.in_the_way and rank == 0:
    with open(os.path.join(checkpoints.directory, "checkpoint-1"), "w") as file:
        file.write("not a folder")
for step in range(begun + 1, options.steps + 1):
    loss = engine(torch.randn(4, 32)).pow(2).mean()
    engine.backward(loss)
    engine.step()
    if checkpoints.step(step):
        break
    time.sleep(options.seconds)
torch.distributed.destroy_process_group()
