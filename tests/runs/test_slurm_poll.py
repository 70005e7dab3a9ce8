"""How often SLURM's queue is asked: one squeue for all jobs of a process, ever more seldom."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from itertools import pairwise
from typing import Any

import pytest

from allranks.core import CouldNotTell
from allranks.launch.launchers.slurm import jobs as slurm_jobs
from allranks.runs import allocation, queued
from allranks.transport.base import Completed


class Skipping(selectors.DefaultSelector):  # type: ignore[misc,valid-type]
    """Nobody waits: the time that would be waited for passes at once."""

    now = 0.0

    def select(self, timeout: float | None = None) -> Any:
        self.now += timeout or 0.0
        return super().select(0)


class FakeClock(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self.skipping = Skipping()
        super().__init__(self.skipping)

    def time(self) -> float:
        return self.skipping.now


class Squeue:
    """In the place of this machine's squeue: which jobs there are from when on, and when it was asked for which."""

    def __init__(self) -> None:
        self.asked: list[tuple[float, str]] = []
        self.runs_at: dict[str, float] = {}
        self.shown_at = 0.0

    async def run(self, words: list[str], **_: Any) -> Completed:
        assert words[0] == "squeue", words
        now = asyncio.get_running_loop().time()
        numbers = words[words.index("-j") + 1]
        self.asked.append((round(now, 2), numbers))
        lines = []
        for shown, at in self.runs_at.items() if now >= self.shown_at else ():
            if shown.partition("_")[0] in numbers.split(","):
                state, nodes = ("RUNNING", "node1") if now >= at else ("PENDING", "")
                lines.append(f"9{shown.partition('_')[2]}|{shown}|{state}|ann||Priority|{nodes}|allranks:r\n")
        return Completed(0, "".join(lines).encode(), b"")


@pytest.fixture
def squeue(monkeypatch: pytest.MonkeyPatch) -> Squeue:
    stub = Squeue()
    monkeypatch.setattr(slurm_jobs, "HERE", stub)
    return stub


def in_fake_time(work: Coroutine[Any, Any, Any]) -> Any:
    loop = FakeClock()
    try:
        return loop.run_until_complete(work)
    finally:
        loop.close()


async def waits(number: str) -> tuple[float, str]:
    job = await allocation.granted(slurm_jobs, number, "r", lambda event: None)
    return asyncio.get_running_loop().time(), job.shown


def test_sixteen_tasks_that_wait_are_asked_for_in_one_call(squeue: Squeue) -> None:
    names = [f"7_{task}" for task in range(16)]
    squeue.runs_at = dict.fromkeys(names, 10.0)

    async def all_of() -> list[tuple[float, str]]:
        return await asyncio.gather(*(waits(name) for name in names))

    granted = in_fake_time(all_of())

    assert [name for _, name in granted] == names
    assert [numbers for _, numbers in squeue.asked] == ["7"] * 5
    assert [at for at, _ in squeue.asked] == [1.0, 2.5, 4.75, 8.12, 13.19]


def test_a_day_in_the_queue_costs_a_call_every_half_minute(squeue: Squeue) -> None:
    squeue.runs_at = {"7": 86400.0}

    in_fake_time(waits("7"))

    moments = [at for at, _ in squeue.asked]
    pauses = [after - before for before, after in pairwise(moments)]
    assert moments[0] == 1.0
    assert all(long >= short for short, long in pairwise(pauses) if long < 29)
    assert max(pauses) == pytest.approx(30.0, abs=0.02) and len(moments) < 86400 / 30 + 12


def test_one_that_comes_later_is_looked_for_soon(squeue: Squeue) -> None:
    squeue.runs_at = {"7": 600.0, "8": 300.5}

    async def two() -> tuple[float, str]:
        first = asyncio.create_task(waits("7"))
        await asyncio.sleep(300)
        later = await waits("8")
        await first
        return later

    at, _ = in_fake_time(two())

    assert at == pytest.approx(301.0, abs=0.1)
    assert {numbers for at, numbers in squeue.asked if at > 302} == {"7"}
    assert any(numbers in ("7,8", "8,7") for _, numbers in squeue.asked)


def test_a_task_that_is_cancelled_leaves_the_others_waiting(squeue: Squeue) -> None:
    squeue.runs_at = {"7_0": 20.0, "7_1": 20.0}

    async def one_goes() -> tuple[float, str]:
        first, second = (asyncio.create_task(waits(name)) for name in squeue.runs_at)
        await asyncio.sleep(3)
        first.cancel()
        return await second

    assert in_fake_time(one_goes())[1] == "7_1"


def test_a_job_that_squeue_does_not_show_at_once_is_waited_for(squeue: Squeue) -> None:
    squeue.runs_at, squeue.shown_at = {"7": 0.0}, 6.0
    assert in_fake_time(waits("7"))[1] == "7"


def test_the_states_of_many_runs_are_one_call(squeue: Squeue) -> None:
    squeue.runs_at = dict.fromkeys(("5", "6", "7_0", "7_1"), 99.0)

    async def states() -> list[dict[str, Any]]:
        entries = [{"id": f"r-{name}", "address": name} for name in squeue.runs_at]
        return await asyncio.gather(
            *(queued.waiting(slurm_jobs, entry["address"], entry) for entry in entries)
        )

    assert [state["state"] for state in in_fake_time(states())] == ["checking"] * 4
    assert [numbers for _, numbers in squeue.asked] == ["5,6,7"]


def test_an_error_of_squeue_reaches_everybody_who_asked(
    squeue: Squeue, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(words: list[str], **_: Any) -> Completed:
        return Completed(1, b"", b"slurm_load_jobs error: Unable to contact slurm controller\n")

    monkeypatch.setattr(squeue, "run", broken)

    async def both() -> list[Any]:
        return await asyncio.gather(slurm_jobs.job("5"), slurm_jobs.job("6"), return_exceptions=True)

    for error in in_fake_time(both()):
        assert isinstance(error, CouldNotTell) and "Unable to contact" in str(error)


def test_a_controller_of_slurm_that_starts_again_costs_no_place_in_the_queue(
    squeue: Squeue, monkeypatch: pytest.MonkeyPatch
) -> None:
    squeue.runs_at = {"7": 400.0}
    whole, told = squeue.run, []

    async def restarts(words: list[str], **more: Any) -> Completed:
        if 100.0 < asyncio.get_running_loop().time() < 300.0:
            return Completed(1, b"", b"slurm_load_jobs error: Unable to contact slurm controller\n")
        return await whole(words, **more)

    monkeypatch.setattr(squeue, "run", restarts)
    job = in_fake_time(allocation.granted(slurm_jobs, "7", "r", told.append))
    assert job.nodes == "node1"
    reasons = [event.payload.why for event in told]
    assert sum("Unable to contact slurm controller" in why for why in reasons) == 1, reasons


def test_a_job_that_is_suspended_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    async def job(number: str) -> slurm_jobs.Job:
        return slurm_jobs.Job(number, "SUSPENDED")

    monkeypatch.setattr(slurm_jobs, "job", job)
    state = asyncio.run(queued.settled(slurm_jobs, "7", {"state": "running"}))
    assert state == {"state": "running", "why": "SLURM has suspended job 7"}
