"""One rank of a probe, run as text by the training environment's Python: joins, sums, measures, ends.

It does not import other modules of allranks, since it is passed on as a text. It alone in `node` imports torch. Each
line that begins with `allranks-probe` is for `probing.ranks`.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import time

REPEATS = 3
LONGEST = 20
"""How many times as long a measurement may take on a processor that others use too."""

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
        say("device", device=torch.cuda.get_device_name(device))
    if os.environ.get("ALLRANKS_PROBE_SPEED"):
        say("computed", **speed(torch, device))
        torch.cuda.empty_cache()  # does nothing if CUDA was not used
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


def speed(torch, device) -> dict:
    """`flops` a second of a square matrix product in the precision that trains, and `copied` bytes per second read and
    written in the device's memory.

    A GPU works for a second, so that one which slows down under load shows it, and the median counts. A processor is
    shared, and a busy one is not slow: one thread is timed by the processor time that it got, and the best of several
    short pieces counts.
    """
    if device.type == "cuda":
        # Before Ampere there is no bf16 in the tensor cores.
        kind = torch.bfloat16 if torch.cuda.get_device_capability(device)[0] >= 8 else torch.float16
        side, copied, together, seconds, clock = 8192, 512 << 20, 4, 1.0, time.perf_counter
    else:
        kind, side, copied, together, seconds, clock = torch.float32, 256, 4 << 20, 1, 0.1, time.thread_time
        torch.set_num_threads(1)  # a second thread may have to wait for its core
    try:
        one = torch.ones(side, side, dtype=kind, device=device)
        out = torch.empty_like(one)
        source = torch.ones(copied, dtype=torch.uint8, device=device)
        target = torch.empty_like(source)
    except torch.cuda.OutOfMemoryError:
        return {"no_memory": True}
    product = rates(torch, device, together, seconds, clock, lambda: torch.matmul(one, one, out=out))
    copy = rates(torch, device, together, seconds / 4, clock, lambda: target.copy_(source))
    best = product[len(product) // 2] if device.type == "cuda" else product[-1]
    moved = copy[len(copy) // 2] if device.type == "cuda" else copy[-1]
    return {"flops": best * 2.0 * side**3, "copied": moved * 2.0 * copied}


def rates(torch, device, together: int, seconds: float, clock, work) -> list:
    """How often a second of `clock` `work` was done, sorted, of pieces of `together`; the first one, which compiles and
    allocates, does not count."""
    work()
    found: list = []
    end, last = clock() + seconds, time.monotonic() + LONGEST * seconds
    while len(found) < 3 or (clock() < end and time.monotonic() < last):
        synchronize(torch, device)
        began = clock()
        for _ in range(together):
            work()
        synchronize(torch, device)
        found.append(together / max(clock() - began, 1e-9))
    return sorted(found)


def join(dist, backend: str) -> None:
    from datetime import timedelta

    dist.init_process_group(backend, timeout=timedelta(seconds=float(os.environ["ALLRANKS_PROBE_SECONDS"])))


def synchronize(torch, device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def nccl_version(torch) -> object:
    """None if this torch has no NCCL."""
    try:
        return ".".join(str(part) for part in torch.cuda.nccl.version())
    except Exception:
        return None


if __name__ == "__main__":
    sys.exit(main())
