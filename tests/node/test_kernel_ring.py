"""The kernel's words are of the moment at which they were seen, whatever its own clock says."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from allranks.node import kernel_ring
from allranks.node.kernel_ring import KernelRing, line_of

XID = "3,1,{at},-;NVRM: Xid (PCI:0000:53:00): 79, pid=7, name=secret --token x, GPU has fallen off\n"
OOM = "3,1,{at},-;Out of memory: Killed process 41 (python) total-vm:9kB\n SUBSYSTEM=mm"


class Clock:
    def __init__(self) -> None:
        self.now = 5e6

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(kernel_ring, "time", clock)
    return clock


@pytest.fixture
def kernel(tmp_path: Path, clock: Clock):
    """A pipe in the kernel's place: what is written comes once, and then there is nothing yet."""
    path = tmp_path / "kmsg"
    os.mkfifo(path)
    ring = KernelRing(str(path))
    descriptor = os.open(path, os.O_WRONLY)
    yield ring, lambda text: os.write(descriptor, text.encode())
    os.close(descriptor)
    ring.close()


@pytest.mark.parametrize("drift_seconds", [0, -3600, 3600, -5e6])
def test_a_kernels_clock_that_drifts_hides_and_invents_nothing(
    kernel, clock: Clock, drift_seconds: float
) -> None:
    ring, says = kernel
    says(XID.format(at=int((clock.now + drift_seconds) * 1e6)))
    assert ring.recent(10.0) == (["NVRM: Xid (PCI:0000:53:00): 79, pid=7"], None)
    clock.now += 11
    assert ring.recent(10.0) == ([], None), "it was said longer ago"
    assert len(ring.recent(900.0)[0]) == 1


def test_what_comes_between_two_deaths_has_its_own_moment(kernel, clock: Clock) -> None:
    ring, says = kernel
    says(XID.format(at=1))
    ring.read_new()
    clock.now += 30
    says(OOM.format(at=1))
    ((line,), _) = ring.recent(10.0)
    assert line.startswith("Out of memory")


def test_a_run_of_lines_is_bounded(kernel) -> None:
    ring, says = kernel
    for number in range(50):
        says(OOM.format(at=1).replace("41", str(number)))
        ring.read_new()
    lines, _ = ring.recent(10.0)
    assert len(lines) == kernel_ring.KERNEL_LINES and "process 49 " in lines[-1]


def test_only_the_kernels_words_about_machines_are_told() -> None:
    assert line_of(OOM.format(at=1)).startswith("Out of memory")
    assert line_of(XID.format(at=1)) == "NVRM: Xid (PCI:0000:53:00): 79, pid=7"
    assert line_of("6,1,1,-;audit: something else") == ""


def test_a_log_that_cannot_be_read_says_so_and_is_asked_again_without_harm(tmp_path: Path) -> None:
    missing = str(tmp_path / "kmsg")
    ring = KernelRing(missing)
    assert ring.recent(10.0) == ([], f"{missing}: No such file or directory")
    ring.read_new()
    ring.close()


def test_the_kernels_own_log_begins_at_its_end() -> None:
    if not os.access("/dev/kmsg", os.R_OK):
        pytest.skip("the kernel's log is not there")
    ring = KernelRing()
    try:
        assert ring.recent(0.0)[0] == []
    finally:
        ring.close()
