"""A rank that says that it leaves before the others lose it."""

from __future__ import annotations

import re

import pytest

from tests.diagnose.test_earlier_runs import of_rank, raised, told

PEER = raised("RuntimeError: [gloo/transport/tcp/pair.cc:553] Connection closed by peer [127.0.0.1]:20668")
LOST = of_rank(0, PEER) + of_rank(1, PEER)
STEPS = "".join(f"worker {rank}: part {n} done, loss 0.{n}7\n" for n in range(3) for rank in (2, 0, 1))


@pytest.mark.parametrize(
    "said",
    ["no more shards, leaving", "end of data after 20 batches", "early stop, bye", "finished all its rows"],
)
def test_a_rank_that_is_done_before_the_others(said: str) -> None:
    found = told(STEPS + f"worker 2: {said}\n" + LOST)
    assert (found.cause, found.where.rank) == ("rank-exited-early", 2)


def test_a_rank_that_says_what_is_wrong_did_not_just_end() -> None:
    found = told(STEPS + "worker 2: the sum of part 3 differs, giving up\n" + LOST)
    assert (found.cause, found.where.rank) == ("rank-crashed-first", 2)


def test_words_that_all_ranks_say_or_that_come_later_prove_nothing() -> None:
    assert told(STEPS + LOST).cause == "nccl-remote-process-exited"
    both = "worker 2: finished all its rows\nworker 1: finished all its rows\n"
    assert told(STEPS + both + LOST).cause == "nccl-remote-process-exited"
    assert told(STEPS + LOST + "worker 2: leaving\n").cause == "nccl-remote-process-exited"
    assert (
        told(STEPS + "worker 1: leaving\n" + LOST).cause == "nccl-remote-process-exited"
    )  # it lost one, too
    assert told("worker 2: leaving\n" + STEPS).cause not in ("rank-exited-early", "rank-crashed-first")


def test_a_rank_that_works_on_or_that_is_not_the_first_to_fail_did_not_leave() -> None:
    ranks = re.sub(r"worker (\d):", r"[rank\1]", STEPS)
    assert told("[rank2] the first part is finished\n" + ranks + LOST).cause == "nccl-remote-process-exited"
    assert told("worker 2: the first part is finished\n" + STEPS + LOST).cause == "nccl-remote-process-exited"
    other = "srun: error: n1: task 3: Exited with exit code 7\n"
    found = told(ranks + "[rank2] no more shards, leaving\n" + LOST + other)
    assert (found.cause, found.where.rank) == ("rank-crashed-first", 3)


def test_ranks_as_bare_numbers() -> None:
    steps = "".join(f"({rank}) epoch {n} mse 0.{n}7\n" for n in range(4) for rank in (1, 0, 2))
    found = told(steps + "(2) no gain, stopping early\n" + PEER)
    assert (found.cause, found.where.rank) == ("rank-exited-early", 2)
    assert told("(2) no gain, stopping early\n" + PEER).cause == "nccl-remote-process-exited"


def test_the_only_rank_that_lost_no_peer_is_the_peer() -> None:
    quiet = re.sub(r"worker (\d):", r"[rank\1]", STEPS)
    found = told(quiet + LOST)
    assert (found.cause, found.where.rank) == ("nccl-remote-process-exited", 2)
    assert told(quiet + of_rank(0, PEER)).where.rank is None
    assert told(quiet.replace("[rank1]", "[rank64]") + LOST).where.rank is None  # some numbers are no ranks
    ended = "  rank      : 2 (local_rank: 2)\n  exitcode  : -15 (pid: 4242)\n"
    assert told(quiet + LOST + ended).where.rank is None  # the launcher ended it
    ending = "W1130 10:00:01.000000 1 torch/elastic/api.py:900] Sending process 104 closing signal SIGTERM\n"
    assert told(quiet + LOST + ending).where.rank is None


def test_mpirun_reports_only_the_first_process_that_failed() -> None:
    first = "  Process name: [[3179,1],0]\n  Exit code:    1\n"
    waits = raised(
        "RuntimeError: [gloo/transport/tcp/unbound_buffer.cc:78] Timed out waiting 25000ms for recv operation"
    )
    found = told("[rank2]: part.lock is held, waiting\n" + of_rank(0, waits) + of_rank(1, waits) + first)
    assert (found.cause, found.where.rank) == ("collective-timeout-straggler", 2)
