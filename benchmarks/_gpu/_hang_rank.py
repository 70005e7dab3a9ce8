"""A rank of a job whose all-reduce hangs, and what torch's flight recorder says of it meanwhile.

    BACKEND=nccl|gloo DEVICE=cuda|cpu ALONE=0|1 python _hang_rank.py

Two ranks: the second one sleeps instead of its fifth all-reduce. Alone: the GPU is kept busy before the fifth one, so
that the host has enqueued it and the GPU has not begun it. Prints what `allranks.worker.flight_recorder` makes
of the recorder and the recorder's own entries, and ends without waiting for anybody.
"""

from __future__ import annotations

import json
import os
import threading
import time
from datetime import timedelta

import torch
import torch.distributed as dist

from allranks.worker import flight_recorder

GOOD = 4
LOOK_SECONDS = float(os.environ.get("LOOK_SECONDS", "3"))
rank, alone = int(os.environ["RANK"]), os.environ.get("ALONE") == "1"
backend, device = os.environ["BACKEND"], os.environ["DEVICE"]


def say(at: str, **more: object) -> None:
    print("RESULT " + json.dumps({"at": at, "rank": rank, **more}, default=str), flush=True)


def look() -> None:
    """From a thread of its own, as `inside` asks while the training's thread stands still."""
    time.sleep(LOOK_SECONDS)
    began = time.monotonic()
    kept = flight_recorder.entries()
    told = flight_recorder.newest(kept)
    say("looked", seconds=time.monotonic() - began, newest=told, entries=kept[-GOOD - 2 :])
    os._exit(0)


if device == "cuda":
    torch.cuda.set_device(0)
dist.init_process_group(backend, timeout=timedelta(seconds=60))
tensor = torch.ones(1 << 10, device=device)
for _ in range(GOOD):
    dist.all_reduce(tensor)
if device == "cuda":
    torch.cuda.synchronize()
say("begun", nccl=".".join(map(str, torch.cuda.nccl.version())) if device == "cuda" else None)
threading.Thread(target=look, daemon=True).start()
if alone and device == "cuda":
    torch.cuda._sleep(1 << 38)  # cycles: two minutes
if not alone and rank == 1:
    time.sleep(120)
dist.all_reduce(tensor)
if device == "cuda":
    torch.cuda.synchronize()
say("went on")
time.sleep(120)
