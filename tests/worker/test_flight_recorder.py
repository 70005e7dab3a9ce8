"""The flight recorder's JSON, as torch 2.13 gives it."""

from __future__ import annotations

import sys
import types

from allranks.worker import flight_recorder


def entry(sequence, operation="gloo:all_reduce", group="0", retired=False, p2p=False, state="scheduled"):
    return {
        "collective_seq_id": sequence,
        "profiling_name": operation,
        "input_sizes": [[4]],
        "process_group": [group, "default_pg"],
        "state": state,
        "retired": retired,
        "is_p2p": p2p,
        "timeout_ms": 1800000,
    }


def test_the_newest_collective_of_each_group_is_told():
    found = flight_recorder.newest([entry(1), entry(7, group="2", retired=True), entry(2, "gloo:broadcast")])
    assert found is not None
    assert (found["group"], found["sequence"], found["operation"], found["state"]) == (
        "0", 2, "gloo:broadcast", "scheduled",
    )  # fmt: skip
    assert found["timeout_seconds"] == 1800.0
    assert {g["group"]: (g["sequence"], g["state"]) for g in found["groups"]} == {
        "0": (2, "scheduled"),
        "2": (7, "completed"),
    }


def test_what_a_gpu_has_not_completed_is_told_beside_what_its_host_has_queued():
    states = ("completed", "completed", "started", "scheduled")
    kept = [entry(n, "nccl:all_reduce", retired=n == 5, state=s) for n, s in enumerate(states, 5)]
    found = flight_recorder.newest(kept)
    assert found is not None and (found["sequence"], found["completed"]) == (8, 6)
    assert (found["pending"]["sequence"], found["pending"]["state"]) == (7, "started")
    assert found["groups"][0]["pending"] == found["pending"]


def test_a_recorder_that_follows_no_states_tells_nothing_of_them():
    """gloo's: all are scheduled, and some are retired late."""
    found = flight_recorder.newest([entry(1, retired=True), entry(2), entry(3)])
    assert found is not None and "pending" not in found and "completed" not in found


def test_sends_between_two_ranks_say_nothing():
    assert flight_recorder.newest([entry(1, p2p=True)]) is None
    found = flight_recorder.newest([entry(1), entry(2, p2p=True)])
    assert found is not None and (found["sequence"], found["p2p"]) == (1, True)
    assert flight_recorder.newest([]) is None


def test_without_torch_there_is_nothing(monkeypatch):
    monkeypatch.delitem(sys.modules, "torch._C._distributed_c10d", raising=False)
    assert flight_recorder.entries() == []


def test_the_other_backends_recorder_is_read_where_nccl_has_none(monkeypatch):
    import json

    module = types.ModuleType("torch._C._distributed_c10d")
    module._dump_nccl_trace_json = lambda collectives, active: b'{"entries": []}'
    module._dump_fr_trace_json = lambda collectives, active: json.dumps({"entries": [entry(3)]}).encode()
    monkeypatch.setitem(sys.modules, "torch._C._distributed_c10d", module)
    assert [e["collective_seq_id"] for e in flight_recorder.entries()] == [3]


def test_groups_of_one_name_are_told_apart_by_their_first_rank():
    """torch counts the groups that a rank is in: two disjoint ones may have one number."""
    config = {"0": {"ranks": "[0, 1, 2, 3]"}, "1": {"name": "1", "ranks": "[2, 3]"}}
    entries = [entry(1), entry(7, group="1"), {**entry(3, group="9"), "process_group": ("9", "tp")}]
    kept = flight_recorder._entries({"entries": entries, "pg_config": config})
    assert [one["group"] for one in flight_recorder.newest(kept)["groups"]] == ["0@0", "1@2", "9"]
    assert [one["group"] for one in flight_recorder.newest(flight_recorder._entries(entries))["groups"]] == [
        "0",
        "1",
        "9",
    ]
