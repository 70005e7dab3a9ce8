"""Signals that nobody of ours sent, told from those that are: the order of events on a node says which they are.

The orders and the times between the events are those of real runs of two nodes in which a rank or its torchrun was
ended by a signal (`tests/runs/scripts/loop.py --fault term`, `torchrun`, `torchrun-term`).
"""

from __future__ import annotations

import pytest

from allranks.core import Event
from allranks.monitor import Watch

RESET = "[gloo/transport/tcp/pair.cc:537] Read error [127.0.0.1]:4307: Connection reset by peer"
DEATH = "W1122 14:51:33.101 3201 api.py:1002] Received 15 death signal, shutting down workers"


def run_of(*events, ranks=2):
    """The verdict on nodes a, b, c with `ranks` ranks altogether, two a node from four ranks on."""
    watch = Watch({"world_size": ranks, "steps": 200})
    for rank in range(ranks):
        node = node_of(rank, ranks)
        watch.add(Event(0.0, "start", node, rank, {"pid": 10 + rank, "start_time": rank, "boot_id": node}))
        watch.add(Event(1.0, "beat", node, rank, {"phase": "training", "step": 5, "total_steps": 200}))
    for event in sorted(events, key=lambda event: event.at):
        watch.add(event)
    return watch


def node_of(rank, ranks=2):
    return "abc"[rank // 2 if ranks > 3 else rank]


def gone(at, rank, code=None, ranks=2):
    return Event(at, "rank-gone", node_of(rank, ranks), rank, {"pid": 10 + rank, "code": code})


def lost_its_peer(at, rank, ranks=2):
    data = {
        "type": "RuntimeError",
        "message": RESET,
        "communication": True,
        "frames": [["loop.py", 95, "<module>"]],
    }
    return Event(at, "exception", node_of(rank, ranks), rank, data)


def torchrun(at, node, code, *rows):
    failures = [{"rank": rank, "code": exit_code} for rank, exit_code in rows]
    return Event(at, "torchrun-ended", node, None, {"code": code, "failures": failures})


def stopping(at, *nodes):
    return [Event(at, "stopping", node, None, {"why": "the run failed"}) for node in nodes]


@pytest.mark.parametrize("seen", [-15, None], ids=["code seen", "code from torchrun's table"])
def test_a_rank_that_got_a_sigterm_is_named_and_not_taken_for_a_straggler(seen):
    verdict = run_of(
        gone(10.0, 1, seen), lost_its_peer(10.002, 0), gone(11.633, 0, 1), torchrun(11.804, "b", 1, (1, -15)),
        torchrun(13.047, "a", 1, (0, 1)), *stopping(13.055, "a", "b"),
    ).verdict(20.0)  # fmt: skip
    assert (verdict.cause, verdict.where.node, verdict.where.rank) == ("rank-terminated", "b", 1)
    assert verdict.evidence[0] == "rank 1 on b was ended by SIGTERM, which allranks did not send"
    assert {place.rank for place in verdict.collateral} == {0} and "time-out" not in verdict.why


def test_of_a_node_whose_ranks_torchrun_ended_after_it_the_first_one_is_named():
    verdict = run_of(
        gone(10.0, 2, -15, 4), gone(10.12, 3, -15, 4), lost_its_peer(10.1, 0, 4), gone(11.0, 0, 1, 4),
        torchrun(11.2, "b", 1, (2, -15)), torchrun(12.0, "a", 1, (0, 1), (1, -15)), ranks=4,
    ).verdict(20.0)  # fmt: skip
    assert (verdict.cause, verdict.where.rank) == ("rank-terminated", 2)


@pytest.mark.parametrize("code", [1, -11, None])
def test_a_sigterm_of_torchrun_after_another_of_its_ranks_failed_is_no_cause(code):
    events = [
        gone(10.0, 2, code, 4),
        gone(10.12, 3, -15, 4),
        torchrun(11.2, "b", 1, (2, code or 1), (3, -15)),
    ]
    verdict = run_of(*events, ranks=4).verdict(20.0)
    assert (verdict.cause, verdict.where.rank) == ("rank-crashed-first", 2)


def test_two_deaths_seen_at_one_look_are_no_order():
    events = [gone(10.0, 2, -15, 4), gone(10.01, 3, -11, 4), torchrun(11.2, "b", 1, (3, -11), (2, -15))]
    assert run_of(*events, ranks=4).verdict(20.0).where.rank == 3


def test_our_own_sigterm_is_no_cause():
    """The node's own clock tells: a rank that goes 10 ms after we began to stop it goes by our signal."""
    events = [*stopping(10.0, "b"), gone(10.01, 1, -15), *stopping(10.3, "a"), gone(10.31, 0, -15)]
    assert run_of(*events).verdict(20.0) is None


def test_a_sigterm_shortly_before_our_stop_was_not_ours():
    events = [
        gone(10.0, 1, -15),
        *stopping(10.2, "a", "b"),
        gone(10.3, 0, -15),
        torchrun(10.4, "b", 1, (1, -15)),
    ]
    verdict = run_of(*events).verdict(20.0)
    assert (verdict.cause, verdict.where.rank) == ("rank-terminated", 1)


def test_a_sigterm_long_after_trouble_elsewhere_is_somebodys_clearing_up():
    events = [lost_its_peer(10.0, 0, 3), gone(14.0, 1, -15, 3), torchrun(14.5, "b", 1, (1, -15))]
    verdict = run_of(*events, ranks=3).verdict(20.0)
    assert verdict.cause != "rank-terminated"


def test_a_rank_that_is_aborted_for_its_lost_peer_does_not_hide_the_sigterm():
    events = [
        gone(10.0, 1, -15),
        gone(11.0, 0, -6),
        torchrun(11.2, "b", 1, (1, -15)),
        torchrun(11.5, "a", 1, (0, -6)),
    ]
    assert run_of(*events).verdict(20.0).where.rank == 1


def test_a_killed_torchrun_is_named_and_its_ranks_are_not():
    verdict = run_of(
        torchrun(10.0, "b", -9), gone(11.064, 1, -15), lost_its_peer(11.129, 0), gone(12.067, 0, 1),
        torchrun(12.793, "a", 1, (0, 1)), *stopping(12.8, "a", "b"),
    ).verdict(20.0)  # fmt: skip
    assert (verdict.cause, verdict.where.node, verdict.where.rank) == ("torchelastic-signal", "b", None)
    assert verdict.evidence == ("torchrun on b was killed by SIGKILL, which allranks did not send",)
    assert {place.rank for place in verdict.collateral} == {0, 1}


def test_a_torchrun_that_was_killed_for_want_of_memory_says_so():
    watch = run_of(
        torchrun(10.0, "b", -9), gone(11.064, 1, -15), lost_its_peer(11.129, 0), gone(12.067, 0, 1)
    )
    watch.add(Event(10.1, "kernel", "b", None, {"lines": ["Out of memory: Killed process 555 (torchrun)"]}))
    verdict = watch.verdict(20.0)
    assert (verdict.cause, verdict.where.node) == ("cpu-oom-killed", "b")


def test_a_torchrun_that_was_told_to_end_is_named_by_its_own_log():
    watch = run_of(
        gone(10.0, 1, -15), lost_its_peer(9.988, 0), torchrun(11.136, "b", 1), gone(11.409, 0, 1),
        torchrun(12.669, "a", 1, (0, 1)), *stopping(12.692, "a", "b"),
    )  # fmt: skip
    watch.add_log("b", "torchrun.log", DEATH + "\n")
    watch.add_log("a", "torchrun.log", "closing\n")
    verdict = watch.verdict(20.0)
    assert (verdict.cause, verdict.where.node, verdict.where.rank) == ("torchelastic-signal", "b", None)
    assert verdict.evidence[0] == "torchrun on b was told to end by SIGTERM, which allranks did not send"


def test_a_torchrun_that_gave_up_by_itself_was_told_by_nobody():
    """Its rendezvous broke: it ends its ranks by SIGTERM, too, and names none of them."""
    watch = run_of(gone(10.0, 1, -15), torchrun(11.136, "b", 1), lost_its_peer(10.1, 0))
    watch.add_log(
        "b", "torchrun.log", "torch.distributed.elastic.rendezvous.api.RendezvousConnectionError: gone\n"
    )
    assert watch.verdict(20.0).cause not in ("torchelastic-signal", "rank-terminated")


def test_a_torchrun_that_we_stopped_was_killed_by_us():
    events = [
        lost_its_peer(9.0, 0),
        *stopping(10.0, "a", "b"),
        torchrun(20.0, "b", -9),
        torchrun(10.5, "a", -15),
    ]
    watch = run_of(*events)
    watch.add_log("a", "torchrun.log", DEATH + "\n")
    assert watch.verdict(30.0).cause == "collective-timeout-straggler"


def test_a_torchrun_that_was_killed_after_its_rank_is_not_the_cause():
    verdict = run_of(gone(10.0, 1, -9), torchrun(10.2, "b", -9), lost_its_peer(10.3, 0)).verdict(20.0)
    assert (verdict.cause, verdict.where.rank) == ("rank-sigkilled", 1)


def test_slurms_word_in_the_nodes_log_says_who_sent_it():
    watch = run_of(torchrun(10.0, "b", -9), gone(11.064, 1, -15), lost_its_peer(11.129, 0))
    said = "slurmstepd: error: *** STEP 4242.0 ON b CANCELLED AT 2026-11-20T03:04:05 DUE TO TIME LIMIT ***"
    watch.add_log("b", "torchrun.log", said + "\n")
    verdict = watch.verdict(20.0)
    assert (verdict.cause, verdict.where.node) == ("slurm-preempt-or-timeout", "b")
