"""A training of plain torch for `benchmarks/live.py`: DDP over gloo, a data loader, and faults on request.

    torchrun … _live_train.py FOLDER [--wait SECONDS] [--leave RANK]

A rank that finds `FOLDER/fault-<rank>` does what is in it for as long as the file is there. `FOLDER/steps-<rank>`
holds the time of each step's end. `--wait` stands for the work of a GPU: so long a step sleeps.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset

RANK = int(os.environ["RANK"])


def fault(folder: Path) -> str:
    try:
        return (folder / f"fault-{RANK}").read_text()
    except OSError:
        return ""


class Numbers(Dataset):
    """Endless samples; the fault `data` is storage that does not answer."""

    def __init__(self, folder: Path):
        self.folder = folder

    def __len__(self) -> int:
        return 1 << 30

    def __getitem__(self, index: int) -> torch.Tensor:
        while fault(self.folder) == "data":
            time.sleep(0.5)
        return torch.full((64,), float(index % 7))


def nap(folder: Path) -> None:
    """The fault `sleep`: a rank that does something else."""
    while fault(folder) == "sleep":
        time.sleep(0.5)


def other_collective(folder: Path) -> None:
    """The fault `other`: a collective that no other rank enters."""
    if fault(folder) == "other":
        dist.broadcast(torch.zeros(8), src=0)


def train(folder: Path, wait: float, workers: int) -> None:
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(64, 64))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    steps = (folder / f"steps-{RANK}").open("a", buffering=1)
    for batch in DataLoader(Numbers(folder), batch_size=2, num_workers=workers):
        nap(folder)
        other_collective(folder)
        time.sleep(wait)
        loss = model(batch).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        steps.write(f"{time.monotonic()}\n")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--wait", type=float, default=0.05)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--leave", type=int, default=-1)
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.leave == RANK:
        sys.exit(0)
    dist.init_process_group("gloo")
    train(options.folder, options.wait, options.workers)


if __name__ == "__main__":
    main()
