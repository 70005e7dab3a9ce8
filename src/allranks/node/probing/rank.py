"""One rank of a probe, run as text by the training environment's Python: joins, sums, measures, ends.

It stands alone, since it is handed over as a text; it imports torch, which nothing else in `node` does.
Each line that begins with `allranks-probe` is for `probing.ranks`.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import time

REPEATS = 3
WAVE = 97
"""The summed numbers are whole and below 2^24 up to 4,096 ranks, so that float32 adds them without error."""


def say(at: str, **more: object) -> None:
    print("allranks-probe " + json.dumps(dict(more, at=at)), flush=True)


def main() -> int:
    say("begun", python=platform.python_version())
    import torch
    import torch.distributed as dist

    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    backend = os.environ["ALLRANKS_PROBE_BACKEND"]
    say("imported", torch=torch.__version__, cuda=torch.version.cuda, nccl=nccl_version(torch))
    device = torch.device("cpu")
    if backend == "nccl":
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
        say("device", name=torch.cuda.get_device_name(device))
    join(dist, backend)
    say("joined")
    numbers = torch.arange(int(os.environ["ALLRANKS_PROBE_BYTES"]) // 4, device=device) % WAVE
    expected = (numbers * world + world * (world - 1) // 2).float()
    tensor = (numbers + rank).float()
    dist.all_reduce(tensor)
    wrong = int((tensor != expected).sum().item())
    say("summed", wrong=wrong, of=tensor.numel())
    times = []
    for _ in range(REPEATS):
        synchronize(torch, device)
        began = time.monotonic()
        dist.all_reduce(tensor)
        synchronize(torch, device)
        times.append(time.monotonic() - began)
    say("measured", seconds=min(times), bytes=tensor.numel() * 4)
    dist.barrier()
    dist.destroy_process_group()
    say("done")
    return 0


def join(dist, backend: str) -> None:
    from datetime import timedelta

    dist.init_process_group(backend, timeout=timedelta(seconds=float(os.environ["ALLRANKS_PROBE_SECONDS"])))


def synchronize(torch, device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def nccl_version(torch) -> object:
    """None where this torch has no NCCL."""
    try:
        return ".".join(str(part) for part in torch.cuda.nccl.version())
    except Exception:
        return None


if __name__ == "__main__":
    sys.exit(main())
