"""Ranks that train a few steps under DeepSpeed and save whole checkpoints: `STAGE`, and the folder as argument.

Rank 0 also writes what the model itself holds at the end, gathered, to `truth.pt`.
"""

import os
import sys

import deepspeed
import torch

STAGE = int(os.environ["STAGE"])
CONFIG = {
    "train_micro_batch_size_per_gpu": 2,
    "optimizer": {"type": "Adam", "params": {"lr": 1e-3, "torch_adam": True}},
    "zero_optimization": {"stage": STAGE},
    "zero_allow_untested_optimizer": True,
}


class Net(torch.nn.Module):
    """Sizes that no number of ranks divides, a frozen weight, a buffer and two tied weights."""

    def __init__(self) -> None:
        super().__init__()
        self.a = torch.nn.Linear(37, 64)
        self.b = torch.nn.Linear(64, 5, bias=False)
        self.f = torch.nn.Linear(5, 5)
        self.f.weight.requires_grad_(False)
        self.e = torch.nn.Embedding(11, 5)
        self.tied = torch.nn.Linear(5, 11, bias=False)
        self.tied.weight = self.e.weight
        self.register_buffer("steps", torch.arange(3.0))

    def forward(self, x):
        return self.tied(self.f(self.b(torch.relu(self.a(x)))))


deepspeed.init_distributed("gloo")
if STAGE == 3:
    with deepspeed.zero.Init(config_dict_or_path=CONFIG):
        net = Net()
else:
    net = Net()
engine, *_ = deepspeed.initialize(
    model=net, model_parameters=[p for p in net.parameters() if p.requires_grad], config=CONFIG
)
for step in range(1, 4):
    engine.backward(engine(torch.randn(2, 37)).pow(2).mean())
    engine.step()
    engine.save_checkpoint(sys.argv[1], tag=f"step_{step}")
with deepspeed.zero.GatheredParameters(list(net.parameters()), enabled=STAGE == 3):
    if torch.distributed.get_rank() == 0:
        held = {name: value.detach().clone() for name, value in net.state_dict(keep_vars=True).items()}
        torch.save(held, os.path.join(sys.argv[1], "truth.pt"))
torch.distributed.barrier()
