"""Which of a machine's GPUs the ranks use, and that the others do not count."""

from __future__ import annotations

from typing import Any

import pytest

from allranks.core import Facts
from allranks.plan import hardware
from allranks.spec import Run, loads

GIB = 1 << 30


def gpu(name: str, memory: int, uuid: str) -> dict[str, Any]:
    return {"name": name, "uuid": uuid, "memory": {"total_bytes": memory * GIB}}


DISPLAY = gpu("NVIDIA T400 4GB", 4, "GPU-d1")
SMALL = gpu("NVIDIA A10", 24, "GPU-a10")
LARGE = gpu("NVIDIA A100-SXM4-80GB", 80, "GPU-e1")
OTHER = gpu("NVIDIA A100-SXM4-80GB", 80, "GPU-e2")


def run_of(gpus: int, env: str = "") -> Run:
    return loads(f"name: x\nnodes: [10.0.0.1]\ngpus: {gpus}\ntrain: {{command: [/t.py]}}\nenv: {{{env}}}\n")


def least(run: Run, *gpus: dict[str, Any]) -> float:
    facts = {run.cluster.nodes[0].name: Facts(run.cluster.nodes[0].name, 0.0, {"gpus": {"list": list(gpus)}})}
    found = hardware.hardware_of(run, True, facts).gpu
    assert found is not None
    return round(found.memory_bytes / GIB / 0.99)


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ("", 80),  # CUDA counts the fastest first
        ("CUDA_DEVICE_ORDER: FASTEST_FIRST", 80),
        ("CUDA_DEVICE_ORDER: PCI_BUS_ID", 4),  # the display's card is the first on the bus
        ('CUDA_DEVICE_ORDER: PCI_BUS_ID, CUDA_VISIBLE_DEVICES: "1,2"', 80),
        ('CUDA_VISIBLE_DEVICES: "0,2"', 4),
        ("CUDA_VISIBLE_DEVICES: 'GPU-e1,GPU-e2'", 80),
        ("CUDA_VISIBLE_DEVICES: 'GPU-e1,GPU-d'", 4),  # the beginning of a UUID is enough
        ("CUDA_VISIBLE_DEVICES: 'GPU-e,GPU-e2'", 80),  # two begin so: the local rank's
    ],
)
def test_a_card_that_no_rank_uses_does_not_count(env: str, expected: int) -> None:
    assert least(run_of(2, env), DISPLAY, LARGE, OTHER) == expected


def test_all_count_if_ranks_use_all() -> None:
    assert least(run_of(3), DISPLAY, LARGE, OTHER) == 4


def test_known_peaks_are_compared_before_the_memory() -> None:
    unknown = gpu("NVIDIA Unheard Of", 96, "GPU-u")
    assert hardware.cuda_order([unknown, SMALL, LARGE], None) == [2, 1, 0]
    assert hardware.cuda_order(
        [DISPLAY, {**DISPLAY, "name": "T1000", "memory": {"total_bytes": 8 * GIB}}], None
    ) == [1, 0]
    assert hardware.cuda_order([LARGE, OTHER], None) == [0, 1]


def test_what_a_machine_sent_may_be_anything() -> None:
    odd: list[dict[str, Any]] = [{"name": 7, "uuid": None, "memory": "much"}, {}, LARGE]
    assert hardware.cuda_order(odd, None)[0] == 2
    assert hardware.hardware_of(
        run_of(3), True, {"10.0.0.1": Facts("10.0.0.1", 0.0, {"gpus": {"list": odd}})}
    ).gpu
