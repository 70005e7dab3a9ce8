"""A program that goes on after an error with lines like those before it did not end there."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allranks.core.causes import UNPROVEN
from allranks.diagnose.blocks import with_last
from allranks.diagnose.usual import FIRST, GOES_ON, WINDOW, is_kept, kept_in
from tests.diagnose.test_earlier_runs import raised, told

SET_UP = "reads its settings\nopens the archive of owls\n"
CRASH = raised("KeyError: 'owl'")
QUOTED = "ApiError: the request of an owl failed with 400\n"
PORT = "OSError: [Errno 98] Address already in use\n"


def feeds(count: int, start: int = 0) -> str:
    return "".join(f"fed owl {n} with {7 * n} mice\n" for n in range(start, start + count))


@pytest.mark.parametrize("failed", [CRASH, QUOTED, raised(PORT.strip())])
def test_lines_like_those_before_an_error_show_that_the_program_went_on(failed: str) -> None:
    before = SET_UP + feeds(20)
    found = told(before + failed + feeds(GOES_ON, 20))
    assert found.cause == UNPROVEN and found.evidence and "But the log goes on after it" in found.why
    assert told(before + failed + feeds(GOES_ON - 1, 20)).cause != UNPROVEN
    others = "".join(f"removed the folder of owl {n}\n" for n in range(9))
    assert told(before + failed + others).cause != UNPROVEN


def test_lines_before_the_last_error_show_nothing_of_it() -> None:
    for failed in (CRASH, QUOTED):
        assert told(SET_UP + feeds(20) + (failed + feeds(6)) * 2 + failed).cause == "rank-crashed-first"


@pytest.mark.parametrize(
    "prefix", ["owls.feed.main - INFO - ", "INFO:owls.feed:", "[INFO] [feed.py:33] ", "[feed.py:33:main] "]
)
def test_the_name_of_a_logger_alone_makes_no_lines_alike(prefix: str) -> None:
    begins = "".join(
        f"{prefix}{said}\n" for said in ("reads its settings", "opens the archive", "counts all owls")
    )
    ends = "".join(
        f"{prefix}{said}\n" for said in ("closes the files", "releases the lock", "ran for an hour")
    )
    assert told(begins * 2 + CRASH + ends * 2).cause == "rank-crashed-first"
    assert told(begins * 2 + CRASH + begins * 2).cause == UNPROVEN


@pytest.mark.parametrize(
    "last",
    [
        "ERROR: feeding failed\n",
        "Process finished with exit code 1\n",
        "make: *** [Makefile:12: feed] Error 1\n",
        "Traceback (most recent call last):\n",
        "Aborted (core dumped)\n",
    ],
)
def test_lines_like_those_before_prove_nothing_if_the_program_failed_after_them(last: str) -> None:
    found = told(
        SET_UP + feeds(20) + raised("torch.OutOfMemoryError: CUDA out of memory. Tried to") + feeds(4) + last
    )
    assert found.cause == "cuda-oom"


def test_another_error_later_may_be_the_one() -> None:
    later = raised("ValueError: no mice", 12)
    found = told(SET_UP + feeds(20) + QUOTED + feeds(6) + later)
    assert found.cause == "rank-crashed-first" and "no mice" in found.evidence[0]


def test_of_two_ranks_one_may_go_on_while_the_other_has_failed() -> None:
    both = "".join(f"[rank{n % 2}]: fed owl {n} with mice\n" for n in range(30))
    failed = "".join(f"[rank1]: {line}\n" for line in CRASH.splitlines())
    found = told(both + failed + "".join(f"[rank0]: fed owl {n} with mice\n" for n in range(9)))
    assert (found.cause, found.where.rank) == ("rank-crashed-first", 1)


def test_ranks_that_print_no_numbers_may_go_on_too() -> None:
    ranks = "node-0:7:7 [0] NCCL INFO comm 0x5 rank 0 nranks 4 cudaDev 0 busId 1000 - Init START\n"
    text = SET_UP + feeds(20) + CRASH + feeds(9)
    assert (told(text).cause, told(ranks + text).cause) == (UNPROVEN, "rank-crashed-first")


def test_a_few_more_steps_are_those_of_other_ranks() -> None:
    steps = [f"step {n} loss 2.{n}\n" for n in range(30)]
    found = told("".join(steps[:25]) + CRASH + "".join(steps[25:]))
    assert found.cause == "rank-crashed-first"


def test_a_line_that_first_came_far_from_the_beginning_is_known_too() -> None:
    start = 1 << 12
    text = "".join(f"sorted shelf {n}\n" for n in range(1, start)) + feeds(start)
    assert told(text + CRASH + feeds(9)).cause == UNPROVEN
    text = "".join(f"sorted shelf {n}\n" for n in range(1, start + WINDOW)) + feeds(start // 2)
    assert told(text + CRASH + feeds(9)).cause != UNPROVEN  # no line of this form was kept


@pytest.mark.parametrize(
    "told_at_end",
    [
        "real\t0m3.2s\nuser\t0m2.1s\nsys\t0m0.2s\n",
        "wandb: owl/mice_fed 3\n" * 2 + "wandb: View the run at https://wandb.example/owls\n",
        "srun: fed the owls of this node\n" * 3,
        "slurmstepd: fed the owls of this node\n" * 3,
    ],
)
def test_what_comes_at_the_end_of_each_run_shows_nothing(told_at_end: str) -> None:
    runs = "".join(SET_UP + feeds(5, n) + told_at_end for n in range(3))
    assert told(runs + SET_UP + feeds(5) + CRASH + told_at_end).cause == "rank-crashed-first"


def test_lines_that_say_too_little_show_nothing() -> None:
    for line in ("    x = owls[n]\n", "12 7 %\n", "\n"):
        assert told(line * 30 + CRASH + line * 9).cause == "rank-crashed-first"


@given(st.integers(1, 3000), st.integers(0, 3000))
def test_the_lines_that_are_kept_are_those_of_which_it_is_asked(start: int, length: int) -> None:
    assert sorted(set(kept_in(start, start + length))) == [
        n for n in range(start, start + length) if is_kept(n)
    ]


def test_the_first_lines_are_kept_and_a_few_further_on() -> None:
    assert all(map(is_kept, range(1, FIRST + 1))) and not is_kept(2 * FIRST - 1)
    assert sum(map(is_kept, range(2 * FIRST, 4 * FIRST))) == WINDOW


@given(st.lists(st.integers(1, 9), max_size=12), st.integers(1, 20))
def test_the_last_block_has_as_many_lines_as_are_asked_for(sizes: list[int], lines: int) -> None:
    blocks = [b"\n".join([b"%d" % n] * size) for n, size in enumerate(sizes)]
    found = list(with_last(iter(blocks), lines))
    assert b"\n".join(block for block, _ in found) == b"\n".join(blocks)
    assert [is_last for _, is_last in found] == [False] * (len(found) - 1) + [True] * bool(found)
    if found:
        assert found[-1][0].count(b"\n") + 1 >= min(lines, sum(sizes))
