"""Who warns that a machine goes, and how long its ranks get."""

from __future__ import annotations

import sys
import time

import pytest

from allranks.node.preemption import Preemption


def test_ranks_that_can_save_get_the_time_once():
    one = Preemption({"notice_seconds": 60})
    assert not one.begins(100.0, True)  # nobody has said that it can save
    one.can_save = True

    assert not one.begins(100.0, False)  # nothing runs
    assert one.begins(100.0, True)
    assert not one.begins(101.0, True)
    assert one.lasts(159.0, True)
    assert not one.lasts(161.0, True)
    assert not one.lasts(110.0, False)  # all have ended


def test_a_second_signal_waits_for_nothing():
    one = Preemption({"notice_seconds": 60})
    one.can_save, one.signals = True, 1
    assert one.begins(100.0, True) and one.lasts(101.0, True)

    one.signals = 2

    assert not one.lasts(102.0, True)


def test_no_time_is_given_where_none_is_wanted():
    one = Preemption({"notice_seconds": 0})
    one.can_save = True

    assert not one.begins(1.0, True) and not one.lasts(1.0, True)


@pytest.mark.parametrize(("code", "says"), [(0, "notice command"), (1, None)])
def test_the_command_says_it_by_its_exit_code(code, says):
    one = Preemption({"notice_command": [sys.executable, "-I", "-S", "-c", f"raise SystemExit({code})"]})
    assert one.asked(1.0) is None  # it has just been started
    deadline = time.monotonic() + 40
    while one._child is not None and time.monotonic() < deadline:
        time.sleep(0.01)
        one.asked(1.0)

    assert one.asked(1.0) == says


def test_a_command_that_hangs_or_is_not_there_says_nothing():
    hangs = Preemption({"notice_command": [sys.executable, "-I", "-S", "-c", "import time; time.sleep(60)"]})
    assert hangs.asked(1.0) is None
    child = hangs._child
    assert child is not None and hangs.asked(6.0) is None  # past its time: killed
    child.wait(60)
    assert hangs.asked(6.1) is None and hangs._child is None
    assert Preemption({"notice_command": ["/no/such/command"]}).asked(1.0) is None
