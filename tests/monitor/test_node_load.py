"""What a sample says of a slow node, and what a verdict makes of a stall."""

from __future__ import annotations

import pytest

from allranks.core import event_from_json
from allranks.core.payloads import as_json
from allranks.monitor import RunState, Watch, event_handlers
from allranks.monitor.detectors import disk_filling, memory_climbing
from allranks.monitor.node_load import remarks
from allranks.monitor.rank_comparison import odd_one


def sampled(**nodes: dict) -> RunState:
    run = RunState()
    for name, data in nodes.items():
        event_handlers.apply(run, event_from_json({"at": 1.0, "kind": "sample", "node": name, "data": data}))
    return run


def test_what_differs_from_the_other_nodes_is_said() -> None:
    calm = {"cpu": {"busy": 0.2, "iowait": 0.01}}
    slow = {
        "cpu": {"busy": 0.97, "iowait": 0.4},
        "memory_total_bytes": 100 << 30,
        "memory_available_bytes": 1 << 30,
        "nics": [{"name": "eth0", "errors": 7}],
        "gpus": [{"index": 3, "throttle": ["hw_thermal_slowdown", "sw_power_cap"]}],
    }
    lines = remarks(sampled(a=calm, b=slow, c=calm), "b")
    assert lines == [
        "b: its cores are 97% busy, the others' 20%",
        "b: 40% of its CPU time waits for I/O, the others' 1%",
        "b: 1.0 GiB of 100 GiB of memory are free",
        "b: eth0 counted 7 errors and drops in the last seconds",
        "b: GPU 3 is slowed down: hw_thermal_slowdown",
    ]


def test_what_all_nodes_show_is_no_reason() -> None:
    busy = {"cpu": {"busy": 0.95, "iowait": 0.0}}
    assert remarks(sampled(a=busy, b=busy), "b") == []
    drops = {"nics": [{"name": "eth0", "errors": 2}]}
    assert remarks(sampled(a=drops, b=drops, c=drops), "b") == []
    assert len(remarks(sampled(a=drops, b=drops, c={"nics": [{"name": "eth0", "errors": 9}]}), "c")) == 1
    assert remarks(sampled(), "a") == remarks(sampled(), None) == []


def test_an_nvidia_smi_that_hangs_is_said() -> None:
    assert remarks(sampled(a={"gpus_frozen_seconds": 60.0}), "a") == [
        "a: nvidia-smi has hung in the driver for 60 s"
    ]


def test_an_old_sample_is_not_judged() -> None:
    """The node's disks or driver may hold up who takes them."""
    sample = {"memory_total_bytes": 64 << 30, "memory_available_bytes": 1 << 30}
    run = sampled(a={**sample, "disks": [{"path": "/out", "free_bytes": 1, "total_bytes": 1 << 40}]})
    assert [*memory_climbing.detect(run, 200.0), *disk_filling.detect(run, 200.0)] == []
    event_handlers.apply(
        run,
        event_from_json({"at": 201.0, "kind": "sample", "node": "a", "data": as_json(run.nodes["a"].sample)}),
    )
    assert [f.where.node for f in memory_climbing.detect(run, 231.0)] == ["a"]


WAIT = [
    ["/u/train.py", 30, "<module>"],
    ["/x/site-packages/torch/distributed/distributed_c10d.py", 9, "all_reduce"],
]
SLEEP = [["/u/train.py", 30, "<module>"], ["/u/data.py", 7, "fetch"]]


def stalled(after: list[dict]) -> Watch:
    """Two ranks wait, rank 1 sleeps in /u/data.py:7; then comes what `after` holds."""
    watch = Watch({"world_size": 3})
    events = [
        {"at": 1.0, "kind": "start", "node": "a", "rank": n, "data": {"pid": n + 9, "start_time": n}}
        for n in range(3)
    ]
    events.append({"at": 3.0, "kind": "evidence", "node": "a", "data": {"why": "no-progress"}})
    for n in range(3):
        frames = SLEEP if n == 1 else WAIT
        events.append(
            {"at": 4.0, "kind": "stack", "node": "a", "rank": n, "data": {"frames": frames, "by": "inside"}}
        )
    said = []
    for event in map(event_from_json, events):
        said += [*watch.add(event), *watch.tick(event.at)]
    said += watch.tick(6.0)
    assert [f.id for f in said] == ["rank-holds-up"]
    for event in map(event_from_json, after):
        watch.add(event)
    return watch


def failure(at: float, rank: int, text: str, kind: str = "exception") -> dict:
    data = {"type": "RuntimeError", "message": text, "frames": [], "communication": True}
    return {"at": at, "kind": kind, "node": "a", "rank": rank, "data": data}


def test_a_time_out_that_follows_a_stall_is_blamed_on_the_rank_that_was_named() -> None:
    watch = stalled([failure(600.0, n, "Timed out waiting 1800000ms for recv operation") for n in (0, 2)])
    found = watch.verdict(700.0)
    assert found is not None
    assert (found.cause, found.where.rank, found.where.file, found.where.line) == (
        "collective-timeout-straggler", 1, "/u/data.py", 7,
    )  # fmt: skip
    assert found.confidence == "certain"


@pytest.mark.parametrize(
    ("rank", "code", "found"),
    [
        (2, -9, ("rank-sigkilled", 2)),
        (1, -9, ("collective-timeout-straggler", 1)),
        (2, -11, ("collective-timeout-straggler", 1)),
    ],
)
def test_another_rank_that_is_killed_while_all_wait_is_the_end_and_not_the_wait(rank, code, found) -> None:
    """No wait ends by SIGKILL: what rank 1 does (a merge in memory) may be why, but it ended nobody."""
    gone = {"at": 50.0, "kind": "rank-gone", "node": "a", "rank": rank, "data": {"code": code}}
    verdict = stalled([gone]).verdict(60.0)
    assert verdict is not None and (verdict.cause, verdict.where.rank) == found
    assert any("holds up the others" in line for line in verdict.evidence)


def test_a_stall_that_passed_is_not_blamed_for_a_later_fault() -> None:
    beat = {"at": 9.0, "kind": "beat", "node": "a", "rank": 1, "data": {"phase": "training", "step": 5}}
    crash = {
        "at": 50.0,
        "kind": "exception",
        "node": "a",
        "rank": 2,
        "data": {"type": "ValueError", "message": "x", "frames": [["/u/t.py", 3, "f"]]},
    }
    found = stalled([beat, crash]).verdict(60.0)
    assert found is not None and (found.cause, found.where.rank) == ("rank-crashed-first", 2)


def test_our_own_sigkill_at_a_stop_is_nobodys_crash() -> None:
    watch = Watch({"world_size": 2})
    for event in (
        {"at": 1.0, "kind": "start", "node": "a", "rank": 0, "data": {"pid": 9, "start_time": 1}},
        {"at": 5.0, "kind": "stopping", "node": "a", "data": {"why": "x"}},
        {"at": 16.0, "kind": "rank-gone", "node": "a", "rank": 0, "data": {"code": -9}},
    ):
        watch.add(event_from_json(event))
    found = watch.verdict(20.0)
    assert found is None or found.cause != "rank-sigkilled"


def at_collectives(*places: tuple[int, str, list]) -> RunState:
    run = RunState()
    event_handlers.apply(run, event_from_json({"at": 1.0, "kind": "evidence", "node": "a", "data": {}}))
    for rank, (sequence, operation, sizes) in enumerate(places):
        event_handlers.apply(
            run,
            event_from_json(
                {"at": 0.5, "kind": "beat", "node": "a", "rank": rank, "data": {"phase": "training"}}
            ),
        )
        data = {"group": "0", "sequence": sequence, "operation": operation, "sizes": sizes}
        event_handlers.apply(
            run, event_from_json({"at": 2.0, "kind": "flight", "node": "a", "rank": rank, "data": data})
        )
    return run


def test_another_operation_at_the_same_number_is_a_mismatch() -> None:
    odd = odd_one(at_collectives((9, "all_reduce", [4]), (9, "broadcast", [4]), (9, "all_reduce", [4])))
    assert odd is not None and (odd.rank, odd.cause, odd.proven) == (1, "collective-mismatch", True)


def test_another_size_is_a_mismatch_only_where_sizes_must_agree_and_proves_less() -> None:
    odd = odd_one(at_collectives((9, "all_reduce", [4]), (9, "all_reduce", [5]), (9, "all_reduce", [4])))
    assert odd is not None and (odd.rank, odd.proven) == (1, False)
    gather = at_collectives((9, "all_gather", [4]), (9, "all_gather", [5]), (9, "all_gather", [4]))
    assert odd_one(gather) is None


def test_the_rank_behind_is_named_and_the_one_ahead_is_not() -> None:
    behind = odd_one(at_collectives((9, "all_reduce", [4]), (8, "all_reduce", [4]), (9, "all_reduce", [4])))
    assert behind is not None and (behind.rank, behind.cause) == (1, "collective-timeout-straggler")
    ahead = at_collectives((9, "all_reduce", [4]), (10, "broadcast", [4]), (9, "all_reduce", [4]))
    assert odd_one(ahead) is None


def test_the_next_attempt_knows_its_nodes_and_no_old_fault() -> None:
    watch = stalled([failure(600.0, 0, "Timed out")])
    process = {"process": {"boot_id": "one"}}
    watch.add(event_from_json({"at": 601.0, "kind": "supervisor", "node": "a", "data": process}))
    again = watch.again()
    assert again.verdict(700.0) is None and again.run.trouble_at is None and not again.run.ranks
    assert (again.run.nodes["a"].boot_id, again.run.nodes["a"].joined_at) == ("one", 601.0)
    assert again.run.world_size == 3


def at_a_build(*stacks: list) -> RunState:
    run = RunState()
    for n, frames in enumerate(stacks):
        start = {"pid": n + 9, "start_time": n}
        event_handlers.apply(
            run, event_from_json({"at": 1.0, "kind": "start", "node": "a", "rank": n, "data": start})
        )
        event_handlers.apply(
            run,
            event_from_json({"at": 4.0, "kind": "stack", "node": "a", "rank": n, "data": {"frames": frames}}),
        )
    return run


def test_a_lock_that_nobody_builds_for_is_told_from_a_build() -> None:
    builds = [["/u/train.py", 3, "main"], ["/x/torch/utils/cpp_extension.py", 2400, "_run_ninja_build"]]
    waits = [*builds[:1], [*builds[1][:2], "_jit_compile"], ["/x/torch/utils/file_baton.py", 51, "wait"]]
    stale = odd_one(at_a_build(waits, waits))
    assert stale is not None and (stale.rank, stale.cause, stale.proven) == (0, "op-build-waits", True)
    busy = odd_one(at_a_build(waits, builds, waits))
    assert busy is not None and (busy.rank, busy.cause, busy.proven) == (1, "op-build-waits", False)


def test_the_last_look_at_the_gpus_is_kept_over_samples_without_one() -> None:
    """nvidia-smi is asked in every third sample."""
    run = RunState()
    gpus = [{"uuid": "GPU-0", "index": 3, "utilization": 90.0, "throttle": ["hw_thermal_slowdown"]}]
    for at, data in ((1.0, {"gpus": gpus}), (6.0, {"cpu": {"busy": 0.1}}), (11.0, {})):
        event_handlers.apply(run, event_from_json({"at": at, "kind": "sample", "node": "a", "data": data}))
    assert remarks(run, "a") == ["a: GPU 3 is slowed down: hw_thermal_slowdown"]


def test_what_a_gpu_did_before_its_looks_stopped_is_not_carried_over() -> None:
    run = RunState()
    gpus = [{"uuid": "GPU-0", "index": 3, "utilization": 0.0, "throttle": ["hw_slowdown"]}]
    for at in (1.0, 16.0, 500.0):
        event_handlers.apply(
            run, event_from_json({"at": at, "kind": "sample", "node": "a", "data": {"gpus": gpus}})
        )
    assert run.nodes["a"].throttled == {"GPU-0": 500.0}
