"""Grace first, then force, also where whoever stops was itself held up between two looks."""

from __future__ import annotations

import signal

import pytest

from allranks.core import Process
from allranks.node import stopping
from allranks.node.processes import Stat
from allranks.node.stopping import FORCE_SECONDS, Stopping

RANK = Stat(7, "rank", "S", 1, 7, 70, 0)


class Processes:
    """Processes that end, or do not, at what they are sent; a clock that the test sets."""

    def __init__(self, ends_at: int | None):
        self.ends_at, self.now = ends_at, 1000.0
        self.living, self.sent = [RANK], []

    def send(self, process: Process, number: int) -> bool:
        self.sent.append(signal.Signals(number).name)
        if number == self.ends_at:
            self.living = []
        return True

    def stop(self, grace_seconds: float, settle_seconds: float = 0.0) -> Stopping:
        return Stopping(
            lambda: list(self.living),
            lambda stat: Process("a", stat.pid, stat.start_time, "boot", "r"),
            grace_seconds,
            settle_seconds,
            self.send,
        )


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch):
    def make(ends_at: int | None) -> Processes:
        made = Processes(ends_at)
        monkeypatch.setattr(stopping.time, "monotonic", lambda: made.now)
        return made

    return make


def test_a_pause_before_the_first_word_takes_nobodys_grace_time(stage) -> None:
    """The disk held the supervisor up, or its machine was paused, after it had begun to stop."""
    one = stage(signal.SIGTERM)
    stop = one.stop(10.0)
    one.now += 3600
    assert not stop.step() and one.sent == ["SIGTERM"]
    assert stop.step()


def test_a_pause_within_the_grace_time_leaves_nobody_alive(stage) -> None:
    """It is not taken for one that no signal ends before it has had one."""
    one = stage(signal.SIGKILL)
    stop = one.stop(10.0)
    assert not stop.step()
    one.now += 3600
    assert not stop.step() and one.sent == ["SIGTERM", "SIGKILL"]
    assert stop.step() and stop.report()["left"] == []


def test_a_look_that_was_held_up_takes_nobodys_grace_time(stage) -> None:
    one = stage(signal.SIGTERM)
    stop = one.stop(10.0)
    found = stop._find

    def slow():
        one.now += 3600
        return found()

    stop._find = slow
    assert not stop.step() and one.sent == ["SIGTERM"]
    stop._find = found
    one.now += 9.0
    assert one.sent == ["SIGTERM"] and stop.step()


def test_one_that_came_while_we_were_held_up_is_not_given_up_before_it_had_its_signal(stage) -> None:
    one = stage(None)
    stop = one.stop(0.0)
    assert not stop.step() and one.sent == ["SIGKILL"]
    one.living = [Stat(8, "rank", "S", 1, 8, 80, 0)]
    one.now += FORCE_SECONDS + 1
    assert not stop.step() and one.sent == ["SIGKILL", "SIGKILL"]
    assert stop.step() and [found["pid"] for found in stop.report()["left"]] == [8]


def test_what_no_signal_ends_is_said_to_be_left(stage) -> None:
    one = stage(None)
    stop = one.stop(10.0)
    assert not stop.step()
    one.now += 9.9
    assert not stop.step() and one.sent == ["SIGTERM"], "the parent has its grace time"
    one.now += 0.2
    assert not stop.step() and one.sent[-1] == "SIGKILL"
    one.now += FORCE_SECONDS + 1
    assert stop.step() and [found["pid"] for found in stop.report()["left"]] == [7]


def test_what_ends_by_itself_is_not_signalled_while_it_may_still(stage) -> None:
    one = stage(signal.SIGTERM)
    stop = one.stop(10.0, settle_seconds=1.0)
    one.now += 0.9
    assert not stop.step() and one.sent == []
    one.now += 0.2
    assert not stop.step() and one.sent == ["SIGTERM"]


@pytest.mark.parametrize("asked", [False, True], ids=["while it settles", "after the first word"])
def test_a_later_wish_shortens_the_time_and_never_lengthens_it(stage, asked: bool) -> None:
    one = stage(None)
    stop = one.stop(10.0, settle_seconds=0.0 if asked else 5.0)
    stop.step()
    stop.hurry(2.0)
    stop.step()
    assert one.sent == ["SIGTERM"]
    stop.hurry(300.0)
    one.now += 2.1
    stop.step()
    assert one.sent[-1] == "SIGKILL"


def test_no_grace_time_is_force_at_once(stage) -> None:
    one = stage(signal.SIGKILL)
    stop = one.stop(0.0)
    assert not stop.step() and one.sent == ["SIGKILL"]
