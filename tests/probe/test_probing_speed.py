"""The speed of a processor, while other programs use it too."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from statistics import median_high

import pytest
import torch

from allranks.node.probing import rank
from allranks.probe.rules.device_slow import SHARE_OF_PROCESSORS

pytestmark = pytest.mark.tensors


@pytest.fixture
def threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("threads")
def test_a_processor_that_is_busy_is_not_slow() -> None:
    loops = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"])
        for _ in range(2 * len(os.sched_getaffinity(0)))
    ]
    try:
        told = [rank.speed(torch, torch.device("cpu")) for _ in range(5)]
    finally:
        for one in loops:
            one.kill()
            one.wait()
    told.append(rank.speed(torch, torch.device("cpu")))
    for what in ("flops", "copied"):
        values = [one[what] for one in told]
        assert min(values) > SHARE_OF_PROCESSORS * median_high(values), f"the probe would warn: {told}"
    flops = [one["flops"] for one in told]
    assert min(flops) > 2 * SHARE_OF_PROCESSORS * max(flops), "only the memory is shared with other programs"


def test_a_processor_that_gives_no_time_is_not_measured_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock of its own time stands still, that on the wall goes on."""
    ticks = iter(range(1000))
    monkeypatch.setattr(rank.time, "monotonic", lambda: float(next(ticks)))
    found = rank.rates(torch, torch.device("cpu"), 1, 0.5, lambda: 0.0, lambda: None)
    assert 3 <= len(found) <= rank.LONGEST
