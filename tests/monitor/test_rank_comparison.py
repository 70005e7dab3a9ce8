"""The ranks' answers at a stall laid side by side: many groups, whole nodes, connections, and what has passed."""

from __future__ import annotations

import pytest

from allranks.core import BLOCK, WARN, Event
from allranks.monitor import rank_comparison, start_patience
from allranks.monitor.rank_comparison import by_flight, odd_one
from allranks.monitor.verdict import verdict
from tests.monitor.told import LOADS, MERGES, WAITS, Stall, stalled

REDUCE, SPREAD = "all_reduce", "broadcast"


# ---- what has passed, and what is not answered yet ----


def test_a_stall_that_passed_while_the_ranks_answered_blames_nobody():
    stall = stalled(WAITS, WAITS, WAITS)
    stall.flight(0, (0, 150, REDUCE), at=0.3)
    for rank in (1, 2):
        stall.flight(rank, (0, 153, REDUCE), at=0.9)
    stall.said += [(63.95, f) for f in stall.watch.tick(63.95)]
    for second in range(65, 90):
        stall.second(second, second)
    assert [f.id for _, f in stall.said] == []


def test_collectives_are_compared_when_each_rank_was_heard_after_it_told_its_own():
    stall = stalled(WAITS, LOADS, WAITS)
    for rank, number in enumerate((9, 8, 9)):
        stall.flight(rank, (0, number, REDUCE))
    stall.said += [(63.8, f) for f in stall.watch.tick(63.8)]
    assert not stall.named("rank-holds-up")
    stall.wait(65, 66)
    ((_, finding),) = stall.named("rank-holds-up")
    assert finding.where.rank == 1


def test_a_stopped_rank_tells_no_collective_and_is_not_waited_for():
    stall = stalled(WAITS, None, WAITS)
    for rank in (0, 2):
        stall.flight(rank, (0, 9, REDUCE))
    stall.look(1, "T")
    stall.stack(1, None)
    stall.wait(64, 66, (0, 2))
    ((at, finding),) = stall.named("rank-holds-up")
    assert (at, finding.where.rank) == (64, 1)


# ---- the flight recorders ----


def test_the_end_of_all_waiting_is_named_and_not_its_victim():
    """Tensor parallel pairs (0, 1), (2, 3), data parallel pairs (0, 2), (1, 3): rank 2 is behind, too."""
    stall = stalled(WAITS, WAITS, WAITS, LOADS)
    stall.flight(0, ("dp02", 10, REDUCE), ("tp01", 21, REDUCE))
    stall.flight(1, ("dp13", 10, REDUCE), ("tp01", 21, REDUCE))
    stall.flight(2, ("dp02", 9, REDUCE), ("tp23", 20, REDUCE))
    stall.flight(3, ("dp13", 9, REDUCE), ("tp23", 19, REDUCE))
    odd = odd_one(stall.watch.run)
    assert odd is not None and (odd.rank, odd.proven) == (3, True)
    assert "it waits for its data loader" in odd.reason


def test_hosts_that_ran_ahead_of_their_gpus_by_unlike_numbers_name_the_one_behind():
    stall = stalled(MERGES, WAITS, LOADS, WAITS)
    for rank, number in enumerate((105, 107, 98, 107)):
        stall.flight(rank, (0, number, "nccl:all_reduce"))
    odd = odd_one(stall.watch.run)
    assert odd is not None and (odd.rank, odd.proven) == (2, True)
    assert "number 98, the others' 105 to 107" in odd.reason


def pending(number, state, operation="nccl:all_reduce"):
    one = {"sequence": number, "operation": operation, "sizes": [[4]], "state": state}
    return {"completed": number - 1, "pending": one, "state": "scheduled"}


def test_gpus_are_compared_by_what_they_have_not_completed():
    """All hosts have queued up to 120; only the GPU of rank 1 has not begun number 101."""
    stall = stalled(MERGES, MERGES, MERGES)
    for rank, state in enumerate(("started", "scheduled", "started")):
        stall.flight(rank, (0, 120, "nccl:all_reduce", pending(101, state)))
    odd = odd_one(stall.watch.run)
    assert odd is not None and odd.rank == 1


def test_gpus_in_two_collectives_at_one_number_are_a_mismatch_though_their_hosts_ran_ahead():
    stall = stalled(MERGES, MERGES, MERGES)
    for rank, (newest, operation) in enumerate(
        ((120, "nccl:all_reduce"), (118, "nccl:broadcast"), (121, "nccl:all_reduce"))
    ):
        stall.flight(rank, (0, newest, "nccl:all_reduce", pending(101, "started", operation)))
    odd = odd_one(stall.watch.run)
    assert odd is not None and (odd.rank, odd.cause, odd.proven) == (1, "collective-mismatch", True)


@pytest.mark.parametrize("piped", [True, False])
def test_a_gpu_of_a_pipeline_that_is_behind_is_not_proven_late(piped):
    """Its host may wait for its GPU in the script's own line, and this one for what another stage sends."""
    stall = stalled(WAITS, MERGES, WAITS)
    gpu = {"uuid": "GPU-1", "bus_id": "00000000:53:00.0"}
    stall.tell(63.0, "start", 1, pid=101, start_time=1, world_size=3, gpu=gpu)
    for rank, number in enumerate((9, 8, 9)):
        row = {"group": "0", "sequence": number, "operation": "nccl:all_reduce", "sizes": [[4]]}
        stall.tell(63.5, "flight", rank, **row, groups=[row], p2p=piped)
    odd = odd_one(stall.watch.run)
    assert odd is not None and (odd.rank, odd.proven) == (1, not piped)


def test_a_circle_names_nobody():
    stall = stalled(WAITS, WAITS)
    stall.flight(0, ("a", 5, REDUCE), ("b", 4, REDUCE))
    stall.flight(1, ("a", 4, REDUCE), ("b", 5, REDUCE))
    assert by_flight(stall.watch.run, stall.watch.run.ranks) is None


def test_one_that_waits_itself_is_not_named_while_another_is_not_heard():
    stall = stalled(WAITS, WAITS, None)
    stall.flight(0, (0, 10, REDUCE))
    stall.flight(1, (0, 9, REDUCE))
    stall.look(2)
    odd = odd_one(stall.watch.run)
    assert odd is not None and (odd.rank, odd.proven) == (2, False)


@pytest.mark.parametrize("operations", [(REDUCE, SPREAD), (REDUCE, SPREAD, SPREAD, REDUCE)])
def test_two_sides_in_two_collectives_are_told_and_neither_is_blamed(operations):
    stall = stalled(*[WAITS for _ in operations])
    for rank, operation in enumerate(operations):
        stall.flight(rank, (0, 9, operation))
    assert odd_one(stall.watch.run) is None
    stall.wait(65, 67)
    assert not stall.named("rank-holds-up")
    ((_, finding),) = stall.named("collective-differs")
    assert (finding.verdict, finding.where.rank) == (BLOCK, None)
    assert "broadcast number 9" in finding.saw and "all_reduce number 9" in finding.saw
    found = stall.watch.verdict(70.0)
    assert found is not None and (found.cause, found.where.rank) == ("collective-mismatch", None)
    assert found.confidence == "certain"


# ---- whole nodes ----


@pytest.mark.parametrize(("nodes", "per_node"), [(2, 8), (3, 4), (2, 2)])
@pytest.mark.parametrize("state", ["D", "T"])
def test_a_node_all_of_whose_processes_stand_is_named(nodes, per_node, state):
    stall = Stall(nodes, per_node)
    still = range((nodes - 1) * per_node, nodes * per_node)
    others = [rank for rank in range(nodes * per_node) if rank not in still]
    stall.wait(51, 63, others)
    stall.ask()
    for rank in others:
        stall.look(rank)
        stall.stack(rank, WAITS)
    for rank in still:
        stall.look(rank, state, "folio_wait" if state == "D" else None)
    stall.wait(64, 75, others)
    finding = stall.named("rank-holds-up")[0][1]
    assert (finding.where.node, finding.where.rank) == (f"n{nodes - 1}", None)
    found = verdict(stall.watch.run, {}, 80.0)
    assert found is not None and {w.rank for w in found.collateral} == set(others)
    assert (found.confidence == "certain") == (state == "T")


def test_a_node_all_of_whose_ranks_wait_for_their_data_is_named():
    stall = stalled(*[WAITS] * 4, *[LOADS] * 4, nodes=2)
    odd = odd_one(stall.watch.run)
    assert odd is not None and (odd.node, odd.cause) == ("n1", "collective-timeout-straggler")


def test_a_node_none_of_whose_stacks_could_be_read_is_named_and_not_proven():
    stall = stalled(*[WAITS] * 4, *[None] * 4, nodes=2)
    odd = odd_one(stall.watch.run)
    assert odd is not None and (odd.node, odd.cause, odd.proven) == ("n1", "rank-silent", False)


def test_a_node_all_of_whose_ranks_are_behind_is_named():
    stall = stalled(*[WAITS] * 4, nodes=2)
    for rank, number in enumerate((9, 9, 8, 8)):
        stall.flight(rank, (0, number, REDUCE))
    odd = odd_one(stall.watch.run)
    assert odd is not None and (odd.node, odd.cause, odd.proven) == (
        "n1",
        "collective-timeout-straggler",
        False,
    )


def test_half_of_a_node_is_no_node():
    stall = stalled(*[WAITS] * 6, *[LOADS] * 2, nodes=2)
    assert odd_one(stall.watch.run) is None


def test_a_process_that_its_control_group_froze_is_stopped():
    stall = stalled(WAITS, None, WAITS)
    stall.look(1, "S", "do_freezer_trap")
    odd = odd_one(stall.watch.run)
    assert odd is not None and (odd.rank, odd.cause, odd.proven) == (1, "rank-silent", True)
    assert "frozen by its control group" in odd.reason


# ---- when a run is stopped for it ----


def held_up_for(seconds, timeout, steps=1000, later=(((9, 8, 9), MERGES),), first=(9, 8, 9)):
    """`first`: the numbers of the collectives in the first answers. `later`: those when the ranks are asked once more,
    as the keeper does it, and the stack of rank 1 then; the last ones are answered from then on."""
    stall, later = stalled(WAITS, MERGES, WAITS, steps=steps), list(later)
    for rank, number in enumerate(first):
        stall.flight(rank, (0, number, REDUCE, {"timeout_seconds": timeout}))
    for second in range(64, 50 + seconds, 4):
        stall.second(second, 50)
        if start_patience.due(stall.watch.run, float(second)):
            stall.asked = float(second)
            event = Event(stall.asked, "evidence", "n0", None, {"why": "still", "quiet": True})
            stall.watch.add(event)
            numbers, frames = later.pop(0) if len(later) > 1 else later[0]
            for rank, (number, stack) in enumerate(zip(numbers, (WAITS, frames, WAITS), strict=True)):
                stall.stack(rank, stack)
                stall.flight(rank, (0, number, REDUCE, {"timeout_seconds": timeout}))
    return stall


@pytest.mark.parametrize(("timeout", "at"), [(1800.0, 600), (None, 600), (120.0, 600), (2400.0, 2400)])
def test_a_rank_may_hold_up_the_others_for_as_long_as_the_user_has_set(timeout, at):
    stall = held_up_for(at + 60, timeout)
    blocked = [when for when, f in stall.named("rank-holds-up") if f.verdict == BLOCK]
    assert blocked and blocked[0] == pytest.approx(50 + at + 20, abs=16)


ON = [((9 + n, 8 + n, 9 + n), MERGES) for n in range(60)]


@pytest.mark.parametrize(
    "later", [ON, [((9, 9, 9), WAITS)]], ids=["collectives go on", "it waits as the others do"]
)
def test_a_run_is_not_stopped_for_what_its_ranks_did_ten_minutes_ago(later):
    said = held_up_for(900, None, later=later).named("rank-holds-up")
    assert said and {f.verdict for _, f in said} == {WARN}


@pytest.mark.parametrize("later", [[((12, 11, 12), MERGES)], [*ON[:3], ((12, 11, 12), MERGES)]])
def test_a_run_that_stands_still_later_is_stopped_all_the_same(later):
    """A few collectives went through after the rank was named first, and then none."""
    said = held_up_for(900, None, later=later).named("rank-holds-up")
    assert BLOCK in {f.verdict for _, f in said}


def test_after_the_last_step_one_rank_may_merge_for_long():
    stall = held_up_for(12 * 60, 7200.0, steps=50)
    assert stall.named("rank-holds-up") == []
    stall = held_up_for(40 * 60, 7200.0, steps=50)
    assert {f.verdict for _, f in stall.named("rank-holds-up")} == {WARN}


def test_a_stopped_process_is_told_after_the_last_step_too():
    stall = stalled(WAITS, None, WAITS, steps=50)
    stall.look(1, "T")
    stall.wait(64, 75)
    assert stall.named("rank-holds-up")[0][1].where.rank == 1


def test_what_was_made_of_the_answers_is_kept_until_another_one_comes(monkeypatch):
    compared = []
    real = rank_comparison._compared
    monkeypatch.setattr(
        rank_comparison, "_compared", lambda run, living: compared.append(1) or real(run, living)
    )
    stall = stalled(WAITS, LOADS, WAITS)
    stall.wait(64, 120)
    assert stall.named("rank-holds-up") and len(compared) == 1
    stall.look(1, "T")
    stall.wait(120, 130)
    held_up = stall.watch.run.held_up
    assert len(compared) == 2 and held_up is not None and "stopped by a signal" in held_up[1].reason


# ---- connections ----


def row(mine, other, resent=0, unsent=0, unread=0, state="ESTABLISHED"):
    local, remote = (f"10.0.0.{1 + n}:5000" for n in (mine, other))
    more = {"unsent_bytes": unsent, "unread_bytes": unread, "resent": resent}
    return {"local": local, "remote": remote, "state": state, **more}


def test_a_node_that_answers_nobody_is_named_where_all_ranks_wait_alike():
    stall = stalled(WAITS, WAITS, WAITS)
    stall.look(0, sockets=[row(0, 1, 6, 65536), row(0, 2)])
    stall.look(1, sockets=[row(1, 0), row(1, 2)])
    stall.look(2, sockets=[row(2, 1, 5, 4096), row(2, 0)])
    stall.wait(65, 67)
    ((_, finding),) = stall.named("rank-holds-up")
    assert (finding.where.node, finding.where.rank, finding.verdict) == ("n1", None, WARN)
    assert any("65,536 bytes are not answered, sent again 6 times" in line for line in finding.evidence)
    found = verdict(stall.watch.run, {}, 80.0)
    assert found is not None and (found.cause, found.confidence) == ("peer-node-network-broken", "likely")


def test_a_rank_that_is_behind_because_its_node_answers_nobody_is_told_with_its_node():
    stall = stalled(WAITS, WAITS, WAITS)
    for rank, number in enumerate((9, 8, 9)):
        stall.flight(rank, (0, number, REDUCE))
    stall.look(0, sockets=[row(0, 1, 6, 65536)])
    stall.look(1, sockets=[row(1, 0), row(1, 2)])
    stall.look(2, sockets=[row(2, 1, 6, 65536)])
    odd = odd_one(stall.watch.run)
    assert odd is not None and (odd.node, odd.cause) == ("n1", "peer-node-network-broken")
    stall.stack(1, LOADS)
    odd = odd_one(stall.watch.run)
    assert odd is not None and (odd.node, odd.rank) == (None, 1), "it is seen in its loader"


def test_one_broken_pair_or_a_byte_sent_twice_blames_nobody():
    stall = stalled(WAITS, WAITS, WAITS)
    stall.look(0, sockets=[row(0, 1, 6, 65536)])
    stall.look(1, sockets=[row(1, 0)])
    stall.look(2, sockets=[row(2, 1, 2, 100), row(2, 0, 9, 0)])
    assert odd_one(stall.watch.run) is None


def test_two_nodes_that_do_not_reach_each_other_are_told_and_neither_is_blamed():
    stall = stalled(WAITS, WAITS, WAITS)
    stall.look(0, sockets=[row(0, 1, 6, 65536), row(0, 2)])
    stall.look(1, sockets=[row(1, 0, 6, 65536), row(1, 2)])
    stall.look(2, sockets=[row(2, 1), row(2, 0)])
    stall.wait(65, 80)
    assert not stall.named("rank-holds-up")
    told = [finding for _, finding in stall.named("no-progress")]
    assert "n0 and n1 do not reach each other: rank 0's connection to" in told[-1].saw, told
    assert told[-1].where.node is None


def test_two_nodes_whose_answers_come_after_the_report_are_named_at_once_and_only_once():
    stall = Stall(3)
    stall.wait(51, 66)
    ((said, finding),) = stall.named("no-progress")
    assert "Suspect" not in finding.saw and said < 66
    stall.asked = 66.0
    stall.ask()
    for rank in range(3):
        stall.stack(rank, WAITS)
        cut = {0: [row(0, 1, 6, 65536)], 1: [row(1, 0, 6, 65536)], 2: [row(2, 1), row(2, 0)]}
        stall.look(rank, sockets=cut[rank])
    stall.wait(67, 85)
    (_, (at, finding)) = stall.named("no-progress")
    assert at <= 68 and "n0 and n1 do not reach each other" in finding.saw


def test_a_proven_rank_keeps_its_blame_and_gets_its_connections_as_evidence():
    stall = stalled(WAITS, None, WAITS)
    stall.look(0, sockets=[row(0, 1, 6, 65536)])
    stall.look(1, "T", sockets=[row(1, 0, unread=300), row(1, 2, unread=500)])
    stall.look(2, sockets=[row(2, 1, 6, 65536)])
    odd = odd_one(stall.watch.run)
    assert odd is not None and (odd.rank, odd.cause) == (1, "rank-silent")
    assert any("rank 1 has not read 800 bytes of 2 connections" in line for line in odd.evidence)
    assert any("rank 0's connection to 10.0.0.2:5000" in line for line in odd.evidence)


def test_the_connections_of_the_silent_rank_stand_in_the_verdict():
    """Nobody was named at the stall; then all but one time out."""
    stall = stalled(WAITS, WAITS, WAITS)
    stall.look(0, sockets=[row(0, 1, 6, 65536)])
    stall.look(1, sockets=[row(1, 0)])
    stall.wait(64, 100)
    for rank in (0, 2):
        text = "Timed out waiting 1800000ms for recv operation to complete"
        stall.tell(100.0, "exception", rank, type="RuntimeError", message=text, frames=[], communication=True)
    found = verdict(stall.watch.run, {}, 110.0)
    assert found is not None and found.where.rank == 1
    assert any("65,536 bytes are not answered" in line for line in found.evidence)


def test_odd_rows_of_connections_are_no_trouble():
    stall = stalled(WAITS, WAITS)
    stall.look(0, sockets=[7, {}, {"remote": None, "resent": "x"}, {"resent": True, "unsent_bytes": 5}])
    assert odd_one(stall.watch.run) is None


def test_that_a_kernel_could_not_be_asked_stands_in_the_evidence():
    stall = stalled(WAITS, LOADS, WAITS)
    stall.watch.add(
        Event(63.2, "kernel", "n1", None, {"lines": [], "why": "/dev/kmsg: Operation not permitted"})
    )
    odd = odd_one(stall.watch.run)
    assert odd is not None
    assert "the kernel's log of n1 could not be read (/dev/kmsg: Operation not permitted)" in odd.evidence


def test_a_waiting_rank_seen_in_state_d_for_a_moment_hides_no_rank_in_its_own_code():
    stall = stalled(WAITS, WAITS, WAITS, MERGES, WAITS, WAITS)
    for rank in range(6):
        stall.look(rank, "D" if rank == 2 else "S", "rwsem_down_read_slowpath" if rank == 2 else None)
        stall.flight(rank, (0, 8 if rank == 3 else 9, REDUCE))
    odd = odd_one(stall.watch.run)
    assert odd is not None and (odd.rank, odd.proven) == (3, True)


def test_a_waiting_rank_in_state_d_is_named_where_nobody_else_is():
    stall = stalled(WAITS, WAITS, WAITS)
    stall.look(2, "D")
    odd = odd_one(stall.watch.run)
    assert odd is not None and (odd.rank, odd.cause, odd.proven) == (2, "nfs-stale-or-io-error", False)


def test_another_training_of_the_script_has_its_own_pace_and_losses():
    stall = Stall(nodes=1, per_node=1)
    rank = stall.watch.run.ranks[0]
    assert rank.steps_seen == 50 and rank.losses and rank.first_losses
    stall.tell(51.0, "beat", 0, phase="done", step=50, steps=[], total_steps=None)
    assert rank.steps_seen == 50
    stall.tell(52.0, "beat", 0, phase="preparing", step=50, steps=[], total_steps=None)
    assert (rank.steps_seen, list(rank.seconds), list(rank.losses), rank.first_losses) == (0, [], [], [])


def test_what_a_rank_fits_alone_after_its_training_is_not_the_training():
    for phase, alarms in (("done", 0), ("training", 1)):
        stall = Stall(nodes=2, per_node=1)
        stall.tell(51.0, "beat", 0, phase=phase, step=50, steps=[], total_steps=None)
        stall.tell(52.0, "settings", 0, world_size=1)
        assert len(stall.named("trained-alone")) == alarms
