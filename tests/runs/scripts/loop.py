"""A small gloo training loop that can be told to go wrong in one way on one rank."""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
import types
from pathlib import Path

import torch
import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=20)
parser.add_argument("--seconds", type=float, default=0.1)
parser.add_argument("--fault", default="none")
parser.add_argument("--rank", type=int, default=1)
parser.add_argument("--at", type=int, default=5)
parser.add_argument("--workers", type=int, default=0)
parser.add_argument("--started", default="")
parser.add_argument("--until", default="", help="all ranks end at one step once this file is there")
parser.add_argument("--once", action="store_true", help="the fault comes in the first attempt alone")
parser.add_argument("--on", default="", help="the fault comes on this node alone")
parser.add_argument(
    "--also", default="", help="data: all ranks read the same; seeds: each has a model of its own"
)
options = parser.parse_args()
also = options.also.split(",")

dist.init_process_group("gloo")
# The first optimizer brings torch's compiler, which nothing here uses and which takes as long as torch itself
# (`python -X importtime -c "import torch._dynamo"`).
compiler = types.ModuleType("torch._dynamo")
compiler.disable = lambda function, *_, **__: function
compiler.graph_break = lambda: None
sys.modules.setdefault("torch._dynamo", compiler)
rank, world = dist.get_rank(), dist.get_world_size()
mine = options.rank == rank and not (options.once and os.environ.get("ALLRANKS_ATTEMPT", "0") != "0")
mine = mine and options.on in ("", os.environ.get("ALLRANKS_NODE"))


class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 100000

    def __getitem__(self, index):
        if mine and options.fault == "loader" and index >= 4 * options.at:
            time.sleep(600)  # the disk
        return torch.full((16,), (index * world + (0 if "data" in also else rank)) % 97 / 16)


torch.manual_seed(rank if "seeds" in also else 0)  # 0: the same model on every rank
model = torch.nn.Linear(16, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
batches = iter(torch.utils.data.DataLoader(Numbers(), batch_size=4, num_workers=options.workers))
if options.started:
    Path(options.started, f"rank-{rank}").write_text(json.dumps({"pid": os.getpid()}))

for step in range(options.steps):
    if options.until:
        ended = torch.tensor(int(Path(options.until).exists()))
        dist.all_reduce(ended, op=dist.ReduceOp.MIN)
        if ended:
            break
    if mine and step == options.at:
        if options.fault == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        elif options.fault == "term":
            os.kill(os.getpid(), signal.SIGTERM)
        elif options.fault == "torchrun":
            os.kill(os.getppid(), signal.SIGKILL)
        elif options.fault == "torchrun-term":
            os.kill(os.getppid(), signal.SIGTERM)
        elif options.fault == "raise":
            raise ValueError("the label of sample 7 is -1")
        elif options.fault == "exit":
            os._exit(0)
        elif options.fault == "disk":
            with open(os.environ["FULL_DISK"] + "/checkpoint.pt", "wb") as file:
                for _ in range(64):
                    file.write(b"x" * (1 << 20))
        elif options.fault == "orphan":
            # A child in a session of its own, without our environment, whose parent goes away.
            code = "import os, time\nif os.fork(): os._exit(0)\nos.setsid()\ntime.sleep(600)"
            subprocess.run([sys.executable, "-c", code], env={}, check=True)
        elif options.fault == "sleep":
            time.sleep(600)  # asleep
        elif options.fault == "stop":
            os.kill(os.getpid(), signal.SIGSTOP)
        elif options.fault == "mismatch":
            dist.broadcast(torch.zeros(1), src=rank)
        elif options.fault == "secret":
            print("the token is", os.environ["CANARY_TOKEN"], flush=True)
    if mine and step >= options.at and options.fault == "slow":
        until = time.perf_counter() + 0.2
        while time.perf_counter() < until:
            pass
    loss = model(next(batches)).pow(2).mean()
    if options.fault == "slow" and Path(options.started, "nan").exists():
        loss = loss * float("nan")
    loss.backward()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
        parameter.grad /= world
    optimizer.step()
    optimizer.zero_grad()
    print(f"step {step} loss {loss.item():.4f}", flush=True)
    time.sleep(options.seconds)
dist.destroy_process_group()
