"""Logs that count on after an error, in whatever words, and logs in which only something else is counted."""

from __future__ import annotations

import pytest

from allranks.diagnose.lines import Line
from allranks.diagnose.usual import Usual
from tests.diagnose.test_earlier_runs import of_rank, raised, told
from tests.diagnose.test_reached import is_healthy

FAILED = raised("ZeroDivisionError: division by zero")
TABLE = "  rank      : 1 (local_rank: 1)\n  exitcode  : -9 (pid: 4242)\n"


def rewards(start: int, end: int, head: str = "INFO|bandit|") -> str:
    return "".join(f"{head}it {n:02} reward 0.{n}37 entropy 0.9{n}\n" for n in range(start, end))


LOGGED, PRINTED = rewards(0, 6), rewards(0, 6, "")


def counts_on(text: str, rank: int | None = None) -> bool:
    usual = Usual()
    for number, line in enumerate(text.splitlines(), 1):
        usual.number = number
        usual.note(Line(line, rank, number=number), number)
    return usual.counts_on(0, rank) > 0


@pytest.mark.parametrize(
    "text",
    [
        LOGGED,
        rewards(90, 101),
        "".join(f"INFO ({rank}) epoch {n}: mse={9 - n}.25\n" for n in range(4) for rank in (1, 0)),
        "".join(f"INFO|worker {rank}|round {n} x=0.{n}\n" for rank in range(3) for n in range(5)),
        "".join(f"11:30:{20 + n} <0> epoch {5 * n} nll 1.{n}\n" for n in range(4)),
    ],
)
def test_lines_that_count_on(text: str) -> None:
    assert counts_on(text)
    assert not counts_on("".join(text.splitlines(True)[:3]))


@pytest.mark.parametrize(
    "text",
    [
        PRINTED,
        rewards(0, 40, ""),  # Python may have shown them when it ended
        rewards(90, 100),  # other ranks may go on for some steps
        "".join(f"INFO retry of step {n}, waiting\n" for n in range(12)),
        "".join(f"frame #{n}: unknown function in libowl.so\n" for n in range(12)),
        "".join(f"INFO rank {n} reads its part\n" for n in range(12)),
        "".join(f"INFO cuda:{n} allocated 70.5 GiB\n" for n in range(12)),
        "".join(f"INFO step of owl {n}\n" for n in (71, 73, 72, 80, 81, 82, 99, 94, 84, 120, 121, 140, 153)),
        "".join(f"2026-11-20 10:11:1{n} the owl sleeps at step\n" for n in range(9)),
        "INFO the owl sleeps\n" * 12,
        "".join(f"removed the folder of owl {n}\n" for n in range(12)),
    ],
)
def test_lines_that_count_something_else(text: str) -> None:
    assert not counts_on(text)


def test_a_program_that_counts_on_got_over_its_error() -> None:
    assert is_healthy(FAILED + LOGGED)
    assert not is_healthy(LOGGED + FAILED)
    assert not is_healthy(FAILED + PRINTED)


def test_other_ranks_that_count_on_prove_nothing() -> None:
    assert not is_healthy(of_rank(1, FAILED) + of_rank(0, LOGGED))
    assert is_healthy(of_rank(1, FAILED) + of_rank(1, rewards(7, 13)))


def test_a_launcher_that_reports_an_end_is_believed() -> None:
    assert not is_healthy(FAILED + LOGGED + TABLE)
    assert told(TABLE + LOGGED).cause == "rank-sigkilled"


def test_a_complaint_before_the_count_is_past() -> None:
    in_use = "ERROR: cannot listen on port 31706: address already in use\n"
    assert is_healthy(in_use + LOGGED)
    assert told(in_use + PRINTED).cause == "rendezvous-port-in-use"


@pytest.mark.parametrize("last", ["make: *** [train] Error 1\n", "ERROR: the job failed\n", FAILED])
def test_what_fails_after_the_count_is_believed(last: str) -> None:
    assert not is_healthy(FAILED + LOGGED + last)


def in_turns(ranks: str, steps: int, head: str = "({}) ") -> str:
    return "".join(head.format(rank) + f"epoch {n}: mse={9 - n}.25\n" for n in range(steps) for rank in ranks)


def test_printed_lines_of_ranks_that_take_turns_waited_in_no_buffer() -> None:
    assert counts_on(in_turns("10", 4))
    assert counts_on(in_turns("012", 4, "[R{}/3] "))
    assert not counts_on(in_turns("1", 12))
    assert not counts_on(in_turns("1", 6) + in_turns("0", 6))  # each rank's buffer at its end
    assert not counts_on("".join(f"[{n}/3] epoch {e}: mse=2.25\n" for e in range(4) for n in (1, 2, 3)))
    assert is_healthy(FAILED + in_turns("10", 4))
    assert not is_healthy(
        FAILED + in_turns("10", 4) + TABLE
    )  # a launcher mixes what ranks print at their ends
