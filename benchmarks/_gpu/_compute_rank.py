"""One rank of a compute test: a matrix product that is checked, and a copy of memory, both timed.

It stands alone, as the probe's rank does, so that the probe could hand it over as a text; it imports torch and
nothing of allranks. Sizes come from the environment: SIZE (of the square matrices), COPY_BYTES, REPEATS.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time

WARM_UPS = 3


def say(at: str, **more: object) -> None:
    print("allranks-probe " + json.dumps(dict(more, at=at)), flush=True)


def main() -> int:
    import torch

    size, copied = int(os.environ["SIZE"]), int(os.environ["COPY_BYTES"])
    repeats = int(os.environ["REPEATS"])
    on_gpu = os.environ["DEVICE"] == "cuda"
    device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0"))) if on_gpu else torch.device("cpu")
    kind = torch.bfloat16 if on_gpu else torch.float32
    if on_gpu:
        copied = min(copied, torch.cuda.mem_get_info(device)[0] // 8)
    say("begun", torch=torch.__version__, device=str(device), dtype=str(kind))
    multiply(torch, device, kind, size, repeats)
    copy(torch, device, copied, repeats)
    say("done")
    return 0


def multiply(torch, device, kind, size: int, repeats: int) -> None:
    torch.manual_seed(int(os.environ.get("RANK", "0")))
    one, other = (torch.randn(size, size, device=device, dtype=kind) for _ in range(2))
    out = torch.full((size, size), float("nan"), device=device, dtype=kind)
    seconds = timed(torch, device, lambda: torch.mm(one, other, out=out), repeats)
    # A few rows again in float64: a GPU that computes wrongly fast is no good one.
    rows = torch.linspace(0, size - 1, min(size, 16)).long().to(device)
    wanted = one[rows].double() @ other.double()
    error = ((out[rows].double() - wanted).norm() / wanted.norm()).item()
    say(
        "multiplied",
        seconds=seconds,
        flops=2.0 * size**3 / statistics.median(seconds),
        error=error,
        size=size,
    )


def copy(torch, device, copied: int, repeats: int) -> None:
    source = torch.randint(0, 255, (copied,), device=device, dtype=torch.uint8)
    target = torch.empty_like(source)
    seconds = timed(torch, device, lambda: target.copy_(source), repeats)
    wrong = int((source != target).sum().item())
    say(
        "copied",
        seconds=seconds,
        bytes_per_second=2.0 * copied / statistics.median(seconds),
        wrong=wrong,
        bytes=copied,
    )


def timed(torch, device, act, repeats: int) -> list:
    """Seconds of each: by the GPU's own events there, by the clock on a CPU."""
    for _ in range(WARM_UPS):
        act()
    if device.type != "cuda":
        times = []
        for _ in range(repeats):
            began = time.perf_counter()
            act()
            times.append(time.perf_counter() - began)
        return times
    events = [torch.cuda.Event(enable_timing=True) for _ in range(repeats + 1)]
    events[0].record()
    for event in events[1:]:
        act()
        event.record()
    torch.cuda.synchronize(device)
    return [a.elapsed_time(b) / 1e3 for a, b in zip(events, events[1:])]  # noqa: B905, RUF007 (Python 3.8)


if __name__ == "__main__":
    sys.exit(main())
