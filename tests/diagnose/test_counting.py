"""Logs that count on after an error, in whatever words, and logs in which only something else is counted."""

from __future__ import annotations

import pytest

from allranks.diagnose.counting import MANY_RISES
from allranks.diagnose.lines import Line
from allranks.diagnose.usual import Usual
from tests.diagnose.test_earlier_runs import of_rank, raised, told
from tests.diagnose.test_reached import is_healthy

FAILED = raised("ZeroDivisionError: division by zero")
REWARDS = "".join(f"it {n:02} reward 0.{n}37 entropy 0.9{n}\n" for n in range(6))
TABLE = "  rank      : 1 (local_rank: 1)\n  exitcode  : -9 (pid: 4242)\n"


def counts_on(text: str, rank: int | None = None) -> bool:
    usual = Usual()
    for number, line in enumerate(text.splitlines(), 1):
        usual.number = number
        usual.note(Line(line, number=number), number)
    return usual.counts_on(0, rank, MANY_RISES) > 0


@pytest.mark.parametrize(
    "text",
    [
        REWARDS,
        "".join(f"({rank}) epoch {n}: mse={9 - n}.25\n" for n in range(4) for rank in (1, 0)),
        "".join(f"INFO|worker {rank}|round {n} x=0.{n}\n" for rank in range(3) for n in range(5)),
        "".join(f'{{"event": "stage", "number": {n}, "value": 0.3}}\n' for n in range(4)),
        "".join(f"11:30:{20 + n} <0> epoch {5 * n} nll 1.{n}\n" for n in range(4)),
    ],
)
def test_lines_that_count_on(text: str) -> None:
    assert counts_on(text)
    assert not counts_on("".join(text.splitlines(True)[:3]))


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"retry {n} of 9 in 5 s\n" for n in range(9)),
        "".join(f"frame #{n}: unknown function in libowl.so\n" for n in range(9)),
        "".join(f"[{n}]:\n" for n in range(9)),
        "".join(f"rank {n} reads its part\n" for n in range(9)),
        "".join(f"found item {n}\n" for n in (71, 73, 72, 80, 81, 82, 99, 94, 84)),
        "".join(f"Sending process {n} closing signal\n" for n in range(2101, 2109)),
        "".join(f"2026-11-20 10:11:1{n} the owl sleeps\n" for n in range(9)),
        "the owl sleeps\n" * 9,
        "".join(f"removed the folder of owl {n}\n" for n in range(9)),
        "".join(f"step {n} x 0.5\n" for n in range(25, 30)),  # other ranks may print them
    ],
)
def test_lines_that_count_something_else(text: str) -> None:
    assert not counts_on(text)


def test_a_program_that_counts_on_got_over_its_error() -> None:
    assert is_healthy(FAILED + REWARDS)
    assert not is_healthy(REWARDS + FAILED)
    assert not is_healthy(FAILED + "".join(REWARDS.splitlines(True)[:3]))


def test_other_ranks_that_count_on_prove_nothing() -> None:
    assert not is_healthy(of_rank(1, FAILED) + of_rank(0, REWARDS))
    assert is_healthy(of_rank(1, FAILED) + of_rank(1, REWARDS))


def test_a_launcher_that_reports_an_end_last_is_believed() -> None:
    assert not is_healthy(FAILED + REWARDS + TABLE)
    assert told(REWARDS + TABLE).cause == "rank-sigkilled"


def test_a_job_that_was_started_again() -> None:
    again = "training exited with 1, restart 1 in 2s\n"
    assert is_healthy(TABLE + again + REWARDS)
    assert is_healthy(of_rank(1, FAILED) + TABLE + again + of_rank(0, REWARDS))
    assert told(TABLE + again).cause == "rank-sigkilled"


@pytest.mark.parametrize("last", ["make: *** [train] Error 1\n", "ERROR: the job failed\n", FAILED])
def test_what_fails_after_the_count_is_believed(last: str) -> None:
    assert not is_healthy(FAILED + REWARDS + last)


def test_a_complaint_before_the_count_is_past() -> None:
    assert is_healthy("ERROR: cannot listen on port 31706: address already in use\n" + REWARDS)
