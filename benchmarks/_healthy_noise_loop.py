"""A healthy gloo training with everything that a healthy training does: pauses, saves, evaluations, uneven steps.

All of it follows from --seed, but for how long the machine takes. It ends after --seconds of training.
"""

import argparse
import os
import random
import time
from pathlib import Path

import torch
import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--seconds", type=float, default=15.0)
parser.add_argument("--folder", type=Path, required=True)
options = parser.parse_args()
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
run = random.Random(options.seed)  # the same on all ranks
mine = random.Random(options.seed * 1000 + rank)

PACE = run.choice([0.02, 0.1, 0.3, 1.0])
SPREAD = run.choice([0.0, 0.3, 1.0])
FIRST = run.choice([0.0, 0.0, 5.0, 20.0])
SAVE_EVERY, SAVE_SECONDS = run.choice([0, 5, 25]), run.choice([0.1, 1.0, 6.0])
EVALUATE_EVERY, EVALUATE_SECONDS = run.choice([0, 10, 40]), run.choice([0.5, 4.0, 18.0])
DATA_SECONDS = run.choice([0.0, 0.0, 0.05])
WORKERS = run.choice([0, 0, 2])
later = random.Random(options.seed + 10**6)  # what came to this loop later changes nothing of the above
COMPILE_AT = later.choice([None, None, later.randint(4, 20)])
COMPILE_SECONDS, COMPILES = later.uniform(20.0, 40.0), later.choice([0, 1, None])  # one rank, or all
END_SECONDS, ENDS = later.choice([0.0, 0.0, later.uniform(15.0, 40.0)]), later.randrange(3)


class Numbers(torch.utils.data.Dataset):
    def __len__(self) -> int:
        return 10**7

    def __getitem__(self, index: int) -> torch.Tensor:
        if DATA_SECONDS:
            time.sleep(DATA_SECONDS * mine.random() / 4)
        return torch.full((64,), (index * world + rank) % 97 / 16)


class Slow:
    """A file on slow storage: each write waits."""

    def __init__(self, file, seconds: float, pieces: int = 20):
        self.file, self.seconds, self.pieces = file, seconds, pieces

    def write(self, data: bytes) -> int:
        if self.pieces > 0:
            self.pieces -= 1
            time.sleep(self.seconds / 20)
        return self.file.write(data)

    def flush(self) -> None:
        self.file.flush()


def pause(step: int) -> float:
    """The step's length: skewed, now and then several times the usual, the same on all ranks or on one alone."""
    seconds = PACE * run.lognormvariate(0.0, SPREAD)
    if run.random() < 0.02:
        seconds += min(4.0, 3.0 * PACE)
    return min(8.0, seconds) * (mine.uniform(0.8, 1.2) if SPREAD else 1.0) + (FIRST if step == 0 else 0.0)


def save(step: int) -> None:
    if rank == 0:
        blob = torch.zeros(int(10e6 * SAVE_SECONDS))  # up to 240 MB
        torch.save([model.state_dict(), blob], options.folder / "model.pt")
        # A second, larger file through a writer of its own, as scripts have them.
        with open(options.folder / "optimizer.pt", "wb") as file:
            torch.save(optimizer.state_dict(), Slow(file, SAVE_SECONDS))
            os.fsync(file.fileno())
    dist.barrier()


def evaluate() -> None:
    model.eval()
    until = time.monotonic() + EVALUATE_SECONDS * run.uniform(0.7, 1.3)
    with torch.no_grad():
        total = torch.zeros(1)
        for batch in torch.utils.data.DataLoader(Numbers(), batch_size=8):
            total += model(batch).sum()
            if time.monotonic() > until:
                break
            time.sleep(0.05)
        dist.all_reduce(total)
    model.train()


def compiler(graph, inputs):
    """A backend of torch.compile that takes its time for every shape but the first."""
    if compiled[0]:
        time.sleep(COMPILE_SECONDS * mine.uniform(0.7, 1.0))
    compiled[0] = True
    return graph.forward


compiled = [False]
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
batches = iter(torch.utils.data.DataLoader(Numbers(), batch_size=8, num_workers=WORKERS))
forward = model if COMPILE_AT is None else torch.compile(model, backend=compiler, dynamic=False)
began, step, over = time.monotonic(), 0, torch.zeros(1)
while not over.item():
    batch = next(batches)
    if step == COMPILE_AT and COMPILES in (None, rank):
        batch = batch[:5]  # as the last batch of an epoch: a shape that is new
    loss = forward(batch).pow(2).mean()
    loss.backward()
    time.sleep(pause(step))
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
    optimizer.step()
    optimizer.zero_grad()
    step += 1
    if SAVE_EVERY and step % SAVE_EVERY == 0:
        save(step)
    if EVALUATE_EVERY and step % EVALUATE_EVERY == 0:
        evaluate()
    enough = time.monotonic() - began > options.seconds and step > (COMPILE_AT or 0)
    over.fill_(float(rank == 0 and enough))
    dist.all_reduce(over)
print(f"{step} steps", flush=True)
dist.destroy_process_group()
if rank == ENDS:  # it merges and uploads, when the others have left
    time.sleep(END_SECONDS)
