"""All ranks say at last, in the same words, that they are done."""

from __future__ import annotations

from allranks.diagnose import Evidence, conclude, parse
from allranks.diagnose.finishers import AFTER, TURNS
from tests.diagnose.test_earlier_runs import of_rank, raised, told

BUSY = raised("FeedBusy: the live feed was rotated under us, reopen needed")
CRASH = of_rank(2, BUSY)


def steps(first: int, last: int, stamp: str = "21:55:{:02} ") -> str:
    return "".join(
        f"{stamp.format(n)}fit #{rank} reads part {n} of the table\n"
        for n in range(first, last)
        for rank in range(3)
    )


def ends(text: str, stamp: str = "21:55:40 ") -> str:
    return "".join(f"{stamp}fit #{rank} {text}\n" for rank in (1, 0, 2))


def is_healthy(text: str) -> bool:
    return told(text).cause in ("benign-noise", "unproven")


def test_all_ranks_are_done_long_after_an_error() -> None:
    assert is_healthy(steps(0, 6) + CRASH + steps(6, 20) + ends("all 20 parts done"))
    assert is_healthy(steps(0, 6) + CRASH + steps(6, 20) + ends("fertig"))
    assert is_healthy(steps(0, 6) + CRASH + steps(6, 20) + ends("done") + "21:55:41 fit #0 saved the table\n")


def test_one_that_is_not_done_or_says_more() -> None:
    assert not is_healthy(steps(0, 6) + CRASH + steps(6, 20))
    missing = "".join(ends("all 20 parts done").splitlines(keepends=True)[:2])
    assert not is_healthy(steps(0, 6) + CRASH + steps(6, 20) + missing)
    assert not is_healthy(steps(0, 6) + CRASH + steps(6, 20) + ends("done with errors"))
    assert not is_healthy(steps(0, 6) + CRASH + steps(6, 20) + ends("ended with code 1"))
    assert not is_healthy(steps(0, 6) + CRASH + steps(6, 20) + ends("stopping"))


def test_an_error_behind_the_end() -> None:
    assert not is_healthy(steps(0, 20) + ends("all 20 parts done") + CRASH)


def test_a_rank_that_only_says_at_its_end_that_it_is_finished() -> None:
    assert is_healthy(steps(0, 6) + CRASH + steps(6, 6 + AFTER) + ends("finished"))
    assert not is_healthy(steps(0, 6) + CRASH + steps(6, 6 + AFTER - 1) + ends("finished"))
    words = (
        "closes its files",
        "leaves the group",
        "frees its memory",
        "writes its log",
        "stops its threads",
    )
    cleaned = "".join(f"21:55:30 fit #{rank} {said}\n" for said in words for rank in range(3))
    assert not is_healthy(steps(0, 6) + CRASH + cleaned + ends("finished"))


def test_the_end_of_a_part_of_the_job() -> None:
    assert not is_healthy(steps(0, 6) + CRASH + steps(6, 20) + ends("data preparation finished"))
    lost = of_rank(0, raised("RuntimeError: [pair.cc:553] Connection closed by peer [127.0.0.1]:20668"))
    assert not is_healthy(steps(0, 6) + CRASH + steps(6, 20) + ends("done") + lost)
    assert not is_healthy(steps(0, 6) + CRASH + steps(6, 20) + ends("done") + "job: rank 2 rc=1\n")


def test_what_waits_in_a_buffer_proves_nothing() -> None:
    blocks = "".join(
        f"fit #{rank} reads part {n} of the table\n" if n < 20 else f"fit #{rank} done\n"
        for rank in range(3)
        for n in range(6, 21)
    )
    assert not is_healthy(steps(0, 6, "") + CRASH + blocks)
    assert is_healthy(steps(0, 6, "") + CRASH + steps(6, 20, "") + ends("done", ""))
    assert TURNS >= 2  # a full buffer and the rest of it are two pieces


def test_a_launcher_that_reports_a_failure_at_last() -> None:
    table = "  rank      : 2 (local_rank: 2)\n  exitcode  : 1 (pid: 102)\n"
    assert not is_healthy(steps(0, 6) + CRASH + steps(6, 20) + ends("all 20 parts done") + table)


def test_one_log_of_each_rank() -> None:
    def diagnosed(end: str, after: str = "", more: int = 20) -> str:
        seen = Evidence()
        for rank in range(3):
            error = BUSY if rank == 2 else ""
            text = "".join(f"2026-11-30 21:55:{n:02},100 INFO reads part {n}\n" for n in range(20))
            text += error + "".join(f"2026-11-30 21:56:{n:02},100 INFO reads part {n}\n" for n in range(more))
            text += f"2026-11-30 21:57:00,100 INFO {end}\n" + (after if rank == 2 else "")
            for line in parse(text, f"logs/rank.{rank}"):
                seen.add(line)
        return conclude(seen).cause

    assert diagnosed("all parts done") in ("benign-noise", "unproven")
    assert diagnosed("leaving") in ("benign-noise", "unproven")  # it reads on as before
    assert diagnosed("leaving", more=2) == "rank-crashed-first"
    assert diagnosed("all parts done", BUSY) == "rank-crashed-first"
