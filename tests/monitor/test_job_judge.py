"""Whom the ranks of a foreign job wait for, from recorded facts of its processes: data, and no process."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from allranks.monitor.job_judge import Verdict, judge
from allranks.monitor.job_look import NodeLook, jobs, read
from tests.monitor.test_flight_dumps import entry, whole

TORCH = "/env/lib/python3.11/site-packages/torch"
TRAIN = ["/home/me/train.py", 66, "train", 100]
WAITING = [TRAIN, [f"{TORCH}/distributed/distributed_c10d.py", 2900, "all_reduce", 80]]
BACKWARD = [TRAIN, [f"{TORCH}/autograd/graph.py", 800, "_engine_run_backward", 40]]
SLEEPING = [TRAIN, ["/home/me/train.py", 49, "nap", 22]]
LOADING = [
    TRAIN,
    [f"{TORCH}/utils/data/dataloader.py", 785, "_next_data", 9],
    ["/home/me/data.py", 4, "read", 2],
]
BROADCAST = [
    ["/home/me/train.py", 55, "other", 12],
    [f"{TORCH}/distributed/distributed_c10d.py", 3151, "broadcast", 70],
]


def row(rank: int, stack: list[Any] = WAITING, world: int = 3, **changes: Any) -> dict[str, Any]:
    """A rank that stands still; `went` makes it move."""
    looks = [stack, [*stack[:-1], [*stack[-1][:3], 1]] if changes.pop("went", False) else stack]
    env = {
        "MASTER_PORT": "29500",
        "MASTER_ADDR": "10.0.0.1",
        "GROUP_RANK": str(rank),
        "GROUP_WORLD_SIZE": str(world),
    }
    return {
        "pid": 100 + rank,
        "rank": rank,
        "world_size": world,
        "local_rank": 0,
        "env": {**env, "LOCAL_WORLD_SIZE": "1", **changes.pop("env", {})},
        "states": ["S", "S"],
        "wchan": ["futex_do_wait", "futex_do_wait"],
        "main_cpu": 0.0,
        "sockets": [socket(rank, (rank + 1) % 3)],
        "connections": [talk(rank, (rank + 1) % 3)],
        "stacks": looks,
        "by": "memory",
        **changes,
    }


def socket(here: int, there: int, resent: int = 0) -> dict[str, Any]:
    ends = {"local": f"10.0.0.{here + 1}:4{here}{there}", "remote": f"10.0.0.{there + 1}:5{here}{there}"}
    return {
        **ends,
        "state": "ESTABLISHED",
        "unsent_bytes": 96 if resent else 0,
        "unread_bytes": 0,
        "resent": resent,
    }


def talk(here: int, there: int, moved: int = 0, ago: int = 30_000) -> dict[str, Any]:
    ends = {"local": f"10.0.0.{here + 1}:4{here}{there}", "remote": f"10.0.0.{there + 1}:5{here}{there}"}
    return {**ends, "moved": moved, "sent_ago_ms": ago, "received_ago_ms": ago}


def looks(*rows: dict[str, Any], silent: str = "", bare: str = "") -> list[NodeLook]:
    found = [read(f"node{one['rank'] + 1}", {"seconds": 3.0, "ranks": [one]}) for one in rows]
    if silent:
        found.append(NodeLook(silent, error="it did not answer within 8 s", unreachable=True))
    return [*found, read(bare, {"seconds": 0.0, "ranks": []})] if bare else found


def verdict(*rows: dict[str, Any], **nodes: str) -> Verdict:
    seen = looks(*rows, **nodes)
    (job,) = jobs(seen)
    return judge(job, seen)


def named(found: Verdict) -> tuple[str, str, int | None, str | None]:
    told = found.diagnosis
    return told.cause, told.confidence, told.where.rank, told.where.node


STOPPED = {"states": ["T", "T"], "wchan": ["do_signal_stop", "do_signal_stop"]}
STRAGGLER = "collective-timeout-straggler"


@pytest.mark.parametrize(
    ("odd", "expected"),
    [
        (row(1, **STOPPED), ("rank-silent", "certain", 1, "node2")),
        (row(1, group={"frozen": True}), ("rank-silent", "certain", 1, "node2")),
        (row(1, SLEEPING), (STRAGGLER, "certain", 1, "node2")),
        (row(1, LOADING), (STRAGGLER, "certain", 1, "node2")),
        (row(1, BROADCAST), ("collective-mismatch", "likely", 1, "node2")),
        (row(1, SLEEPING, gpu=True), (STRAGGLER, "likely", 1, "node2")),
        (row(1, SLEEPING, main_cpu=2.9), (STRAGGLER, "likely", 1, "node2")),
        (row(1, SLEEPING, went=True), (STRAGGLER, "likely", 1, "node2")),
        (row(1, [], why="its memory cannot be read"), ("rank-silent", "likely", 1, "node2")),
    ],
)
@pytest.mark.parametrize("waiting", [WAITING, BACKWARD])
def test_the_rank_that_the_others_wait_for(odd: dict[str, Any], expected: tuple, waiting: list[Any]) -> None:
    found = verdict(row(0, waiting), odd, row(2, waiting))
    assert named(found) == expected
    assert [where.rank for where in found.diagnosis.collateral] == [0, 2]
    assert not found.advances


def test_a_job_of_which_every_rank_moves_advances() -> None:
    found = verdict(
        row(0, went=True), row(1, connections=[talk(1, 2, moved=512)]), row(2, SLEEPING, went=True)
    )
    assert found.advances and found.diagnosis.confidence == "certain"


def test_a_stopped_rank_is_named_though_the_others_still_move() -> None:
    assert named(verdict(row(0, went=True), row(1, **STOPPED), row(2, went=True)))[2] == 1


def test_the_beat_of_the_store_is_no_progress() -> None:
    beat = {**talk(0, 1, moved=64), "remote": "10.0.0.1:29500"}
    assert not verdict(*(row(n, connections=[beat]) for n in range(3))).advances


def test_one_that_is_at_work_while_bytes_have_just_gone_may_be_only_slow() -> None:
    fresh = [[talk(n, (n + 1) % 3, ago=900)] for n in range(3)]
    busy = row(1, SLEEPING, main_cpu=2.9, connections=fresh[1])
    assert named(verdict(row(0, connections=fresh[0]), busy, row(2, connections=fresh[2])))[0] == "unproven"


def test_ranks_that_all_wait_alike_prove_nothing() -> None:
    found = verdict(*(row(n) for n in range(3)))
    assert named(found)[:3] == ("unproven", "unproven", None)
    assert any("nothing moved" in line for line in found.diagnosis.evidence)


def test_waiting_for_storage_counts_only_at_both_looks() -> None:
    assert named(verdict(row(0), row(1, states=["S", "D"]), row(2)))[0] == "unproven"
    assert named(verdict(row(0), row(1, states=["D", "D"]), row(2)))[2] == 1


SLEEPS = {"wchan": ["hrtimer_nanosleep", "hrtimer_nanosleep"]}
UNKNOWN = {"wchan": [None, None]}


@pytest.mark.parametrize(
    ("odd", "expected"),
    [
        (SLEEPS, (STRAGGLER, "likely", 1, "node2")),
        ({"main_cpu": 2.9}, (STRAGGLER, "likely", 1, "node2")),
        ({"wchan": ["ep_poll", "ep_poll"]}, (STRAGGLER, "likely", 1, "node2")),
        (STOPPED, ("rank-silent", "certain", 1, "node2")),
        ({}, ("unproven", "unproven", None, None)),
        (UNKNOWN, ("unproven", "unproven", None, None)),
    ],
)
def test_without_stacks_the_kernel_says_who_waits_for_something_else(
    odd: dict[str, Any], expected: tuple
) -> None:
    blind: dict[str, Any] = {"why": "its memory cannot be read"}
    found = verdict(row(0, [], **blind), row(1, [], **blind, **odd), row(2, [], **blind))
    assert named(found) == expected


def test_without_stacks_a_job_of_which_all_compute_names_nobody() -> None:
    rows = [row(n, [], main_cpu=2.9) for n in range(2)]
    assert named(verdict(*rows, row(2, [], **SLEEPS)))[0] == "unproven"


# ---- dumps of the flight recorder ----


def recorded(last: int) -> dict[str, str]:
    """A dump of a rank whose collective number `last` is not finished."""
    entries = [entry(n) for n in range(1, last)] + [entry(last, state="started")]
    return {"data": base64.b64encode(json.dumps(whole(entries)).encode()).decode()}


def test_the_recorders_words_count_before_the_stacks() -> None:
    """On GPUs: all stand in their own code at the same line."""
    gpus = {"gpu": True, "main_cpu": 3.0}
    numbers = [9, 7, 9, 9]
    found = verdict(
        *(row(n, SLEEPING, world=4, dump=recorded(last), **gpus) for n, last in enumerate(numbers))
    )
    assert named(found)[2:] == (1, "node2")
    without = verdict(*(row(n, SLEEPING, world=4, **gpus) for n in range(4)))
    assert named(without)[0] == "unproven"


# ---- ranks that are nowhere ----


def test_a_node_without_a_rank_of_the_job_is_named() -> None:
    assert named(verdict(row(0), row(2), bare="node2")) == ("rank-exited-early", "likely", 1, "node2")


def test_a_node_that_does_not_answer_is_named() -> None:
    assert named(verdict(row(0), row(2), silent="node2")) == ("node-failure", "likely", 1, "node2")


def test_a_rank_that_is_gone_beside_others_of_its_launch() -> None:
    env = {"LOCAL_WORLD_SIZE": "2", "GROUP_RANK": "0", "GROUP_WORLD_SIZE": "2"}
    other = {**env, "GROUP_RANK": "1"}
    there = [row(0, world=4, env=env), row(2, world=4, env=other), row(3, world=4, env=other, local_rank=1)]
    assert named(verdict(*there)) == ("rank-exited-early", "certain", 1, "node1")


def test_a_gap_in_the_ranks_of_one_node_is_a_rank_that_is_gone() -> None:
    seen = [
        read("node1", {"seconds": 3.0, "ranks": [row(0, env={"LOCAL_WORLD_SIZE": ""}), row(2, local_rank=2)]})
    ]
    (job,) = jobs(seen)
    assert named(judge(job, seen)) == ("rank-exited-early", "certain", 1, "node1")


def test_an_offer_of_the_recorders_is_told() -> None:
    pipe = {"env": {"TORCH_NCCL_DEBUG_INFO_PIPE_FILE": "/tmp/fr"}}
    assert "write a 1 into /tmp/frRANK.pipe" in verdict(*(row(n, **pipe) for n in range(3))).notes[0]


def test_a_node_that_could_not_be_asked_is_no_machine_that_failed() -> None:
    seen = [*looks(row(0), row(2)), NodeLook("node2", error="its host key is unknown")]
    (job,) = jobs(seen)
    found = judge(job, seen)
    assert named(found)[0] == "unproven"
    assert "node2: its host key is unknown" in found.notes


def test_without_all_nodes_nobody_is_named() -> None:
    found = verdict(row(0), row(2))
    assert named(found)[:3] == ("unproven", "unproven", None)
    assert "give all nodes" in found.diagnosis.why
    assert found.notes == ("rank 1 of 3 not seen",)


def test_without_all_nodes_a_rank_outside_of_every_collective_is_named() -> None:
    assert named(verdict(row(0), row(2, SLEEPING)))[2] == 2


# ---- the network ----


def test_a_node_that_two_others_do_not_reach() -> None:
    cut = [socket(0, 1, resent=5)], [socket(1, 0, resent=5), socket(1, 2, resent=5)], [socket(2, 1, resent=5)]
    found = verdict(*(row(n, sockets=[socket(n, (n + 2) % 3), *cut[n]]) for n in range(3)))
    assert named(found) == ("peer-node-network-broken", "likely", 1, "node2")


def test_which_end_of_a_link_is_broken_the_others_say() -> None:
    cut = [[socket(0, 1, resent=5)], [socket(1, 0, resent=5)], [socket(2, 1)]]
    seen = looks(*(row(n, sockets=[socket(n, (n + 2) % 3), *cut[n]]) for n in range(3)))
    (job,) = jobs(seen)
    first = judge(job, seen)
    assert first.asks == {f"node{n}": f"10.0.0.{n}" for n in (1, 2, 3)}
    assert "which end is to blame" in first.diagnosis.why

    heard = {"node3": {"10.0.0.1": True, "10.0.0.2": False}, "node2": {"10.0.0.1": False, "10.0.0.3": False}}
    assert named(judge(job, seen, heard)) == ("peer-node-network-broken", "likely", 1, "node2")
    heard["node3"]["10.0.0.2"] = True
    found = judge(job, seen, heard)
    assert "which end is to blame" in found.diagnosis.why and not found.asks


def test_a_connection_sent_again_once_is_no_broken_link() -> None:
    assert (
        named(verdict(*(row(n, sockets=[socket(n, (n + 1) % 3, resent=1)]) for n in range(3))))[0]
        == "unproven"
    )


# ---- which ranks belong together ----


def test_two_jobs_on_one_port_are_told_apart() -> None:
    mine = [row(n) for n in range(2)]
    theirs = [row(n, env={"MASTER_ADDR": "10.0.0.9"}) for n in range(2)]
    assert [len(job.ranks) for job in jobs(looks(*mine, *theirs))] == [2, 2]


@pytest.mark.parametrize(
    "odd",
    [
        {"rank": -1},
        {"rank": 9},
        {"world_size": "3"},
        {"stacks": [[["a", "b"]], 7, None]},
        {"states": None, "sockets": [{"resent": "x"}], "connections": 4},
        {"dump": {"data": "gANjb3MK"}},
        {"dump": {"data": "\x1b[31m"}},
        {"children": [{"stack": [[1]]}], "env": {"MASTER_PORT": 7}},
    ],
)
def test_no_answer_of_a_node_is_too_odd(odd: dict[str, Any]) -> None:
    seen = looks(row(0), {**row(1), **odd} | {"rank": odd.get("rank", 1)}, row(2))
    for job in jobs(seen):
        judge(job, seen)
