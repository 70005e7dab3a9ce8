"""One rank that writes what it holds of a state; started twice by test_state_file.py. state_file_worker.py OUT RANK"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import torch

from allranks.worker import state_file
from allranks.worker.optimizer_state import Flat, Part

OUT, RANK, WORLD = Path(sys.argv[1]), int(sys.argv[2]), 2
WHOLE = {"a": torch.arange(15.0).reshape(3, 5), "b": torch.arange(100.0, 107.0), "c": torch.arange(-4.0, 0.0)}


def stage_3(kind: float) -> Flat:
    """Each parameter is cut across the ranks, the last part padded with zeros."""
    parts, mine, offset = [], [], 0
    for name, whole in WHOLE.items():
        length = -(-whole.numel() // WORLD)
        padded = torch.zeros(length * WORLD)
        padded[: whole.numel()] = whole.reshape(-1) + kind
        mine.append(padded[RANK * length : (RANK + 1) * length])
        parts.append(Part(name, tuple(whole.shape), whole.numel(), offset, length))
        offset += length
    master = torch.cat(mine)
    return Flat(master, {"exp_avg": master * 2, "step": torch.tensor(3.0)}, tuple(parts), 0, True)


def stage_2(kind: float) -> Flat:
    """The parameters lie end to end, and each rank has a stretch of them."""
    parts, offset = [], 0
    for name, whole in WHOLE.items():
        parts.append(Part(name, tuple(whole.shape), whole.numel(), offset, whole.numel()))
        offset += whole.numel()
    line = torch.cat([whole.reshape(-1) + kind for whole in WHOLE.values()])
    mine = line[RANK * offset // WORLD : (RANK + 1) * offset // WORLD].clone()
    return Flat(mine, {"exp_avg": mine * 2}, tuple(parts), 0, False)


def main() -> None:
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{OUT}/store", rank=RANK, world_size=WORLD
    )
    sees, sent, real = state_file._sees, [], torch.distributed.send

    def counted(tensor, dst):
        sent.append(tensor.numel() * tensor.element_size())
        real(tensor, dst=dst)

    torch.distributed.send = counted
    for name, flat in (("cut", stage_3(0.0)), ("stretch", stage_2(0.0))):
        for way in ("direct", "sent"):
            state_file._sees = sees if way == "direct" else lambda told: False
            del sent[:]
            state_file.write((flat,), str(OUT / f"{name}-{way}") if RANK == 0 else None)
            (OUT / f"{name}-{way}.sent-{RANK}").write_text(str(sum(sent)))
    try:
        state_file.write((stage_3(0.0),), str(OUT / "nowhere" / "file") if RANK == 0 else None)
        (OUT / f"refused-{RANK}").write_text("nothing")
    except OSError as error:
        (OUT / f"refused-{RANK}").write_text(type(error).__name__)
    torch.distributed.barrier()
    os._exit(0)


main()
