"""The plan against what a run measured: which numbers are held together, and the error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from allranks.core import Cluster, Event, Node
from allranks.output.report_collect import Collector
from allranks.output.report_plan import WITH_ADAPTER, compare
from allranks.plan import make_plan
from allranks.spec import Gpus, Run, Train

CONFIG = {
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "vocab_size": 512,
}


def a_plan(on_gpus: bool = True, **arguments: Any) -> dict[str, Any]:
    given = {"lora_target": "q_proj,v_proj", "per_device_train_batch_size": 1, "bf16": True, "max_steps": 9}
    where = [("a", "10.0.0.1"), ("b", "10.0.0.2")] if on_gpus else [("a", "127.0.0.1"), ("b", "127.0.0.1")]
    nodes = Cluster(tuple(Node(name, address, rank, 2) for rank, (name, address) in enumerate(where)))
    train = Train("llamafactory", {**given, **({} if on_gpus else {"use_cpu": True}), **arguments})
    run = Run("x", nodes, train, gpus=Gpus(2, "A100-SXM4-80GB"), same_host=not on_gpus)
    return json.loads(json.dumps(make_plan(run, CONFIG).as_json()))


def rows(plan: dict, settings: dict | None = None, summary: dict | None = None) -> dict[str, dict]:
    found = compare(plan, {}, settings or {}, summary or {}, None)
    return {row["what"]: row for row in found}


def test_the_trainers_count_holds_the_adapter_and_so_does_ours() -> None:
    plan = a_plan()
    total, trained = plan["total_parameters"], plan["trainable_parameters"]
    row = rows(plan, {"total_parameters": total + trained, "trainable_parameters": trained})
    assert row[WITH_ADAPTER]["difference"] == 0 and row["trainable parameters"]["difference"] == 0


def test_what_trains_whole_has_no_adapter_to_add() -> None:
    plan = a_plan(finetuning_type="full")
    assert rows(plan, {"total_parameters": plan["total_parameters"]})[WITH_ADAPTER]["difference"] == 0


def test_memory_is_compared_with_what_torch_counts() -> None:
    plan = a_plan()
    parts = dict(plan["memory"]["gpu_bytes"])
    allocated = parts["total"] - parts["runtime"] - parts["fragmentation"]
    row = rows(plan, summary={"gpu_peak_bytes": 1.25 * allocated})["peak GPU memory of a rank"]
    assert row["planned"] == allocated and row["difference"] == pytest.approx(0.25)


def test_step_time_and_bytes_have_their_rows() -> None:
    plan = a_plan()
    seconds, out = plan["traffic"]["seconds_per_step"], plan["traffic"]["node_out_bytes_per_step"]
    found = rows(plan, summary={"step_seconds": 2 * seconds, "received_bytes_per_step": 1.02 * out})
    assert found["step time"]["difference"] == pytest.approx(1.0)
    assert found["received per node and step"]["difference"] == pytest.approx(0.02)


def test_on_one_machine_the_bytes_are_not_the_runs_own() -> None:
    """The loopback carries what everybody on the machine sends: a red +7,758 % of it would be a false alarm."""
    plan = a_plan(on_gpus=False)
    found = rows(plan, summary={"received_bytes_per_step": 1e9, "node_rss_bytes": 3e9})
    row = found["received per node and step"]
    assert row["planned"] == 4 * plan["traffic"]["received_bytes_per_step"] > 0
    assert (row["measured"], row["difference"], row["wrong"]) == (None, None, False)
    assert row["why"].startswith("not comparable: the loopback")
    assert found["memory of a node"]["planned"] == plan["memory"]["host_parts"]["train"]


def test_within_one_node_nothing_of_the_run_comes_in() -> None:
    summary = {"received_bytes_per_step": 1e9}
    plan = a_plan()
    alone = {**plan, "ranks": [one for one in plan["ranks"] if one["node"] == "a"], "traffic": None}
    assert "received per node and step" not in rows(alone, summary=summary)
    script = {**plan, "traffic": None}
    assert rows(script, summary=summary)["received per node and step"]["measured"] == 1e9


@pytest.mark.parametrize("state", ["failed", "stopped", "lost", "running", None])
def test_only_a_run_that_completed_compares_its_steps(state: Any) -> None:
    keep = {"expect": {"total_steps": 80}}
    (row,) = [r for r in compare({}, keep, {}, {"last_step": 27}, None, state)]
    assert (row["planned"], row["measured"], row["difference"], row["wrong"]) == (80, 27, None, False)
    assert row["why"] == "not comparable: the run did not complete"
    (done,) = compare({}, keep, {}, {"last_step": 79}, None, "succeeded")
    assert done["wrong"] and done["difference"] == pytest.approx(-1 / 80) and not done["why"]


def test_only_numbers_that_had_to_be_equal_are_wrong() -> None:
    plan = a_plan()
    found = rows(
        plan, {"trainable_parameters": 1, "world_size": 4}, {"step_seconds": 1e6, "node_rss_bytes": 1}
    )
    assert {what for what, row in found.items() if row["wrong"]} == {"trainable parameters"}
    assert found["step time"]["difference"] > 1


def test_bytes_a_step_come_from_the_steps_that_were_counted() -> None:
    collector = Collector()
    counted = {"a": [(1, 10**12), (3, 10**12 + 500), (8, 10**12 + 5500)], "b": [(4, 100), (9, 5600)]}
    for rank, (node, pairs) in enumerate(counted.items()):
        for step, value in pairs:
            data = {"phase": "training", "step": step, "carried": [step, value], "rss_bytes": 7}
            collector.add(Event(float(step), "beat", node, rank, data).as_json())
    summary = collector.summary()
    assert summary["received_bytes_per_step"] == pytest.approx((1000 + 1100) / 2)
    assert summary["node_rss_bytes"] == 7


@pytest.mark.parametrize("again", [101, 501, 1001])
def test_what_is_loaded_between_two_attempts_is_no_traffic_of_steps(again: int) -> None:
    collector, value, at = Collector(), 10**9, 0.0
    for first, last in ((1, 1000), (again, again + 200)):
        collector.add(Event(at, "start", "a", 0, {"pid": 4}).as_json())
        for step in range(first, last + 1):
            at, value = (
                at + 1.0,
                value + (1000 if step - first > 1 else 90_000),
            )  # ZeRO-3 traces the first ones
            data = {"phase": "training", "step": step, "carried": [step, value]}
            collector.add(Event(at, "beat", "a", 0, data).as_json())
        value += 5_000_000
    assert collector.summary()["received_bytes_per_step"] == pytest.approx(1000)


def test_a_counter_that_began_again_or_is_no_number_counts_nothing() -> None:
    collector = Collector()
    for step, value in ((4, 900), (5, 100), (6, 300), (7, None), (8, "x")):
        data = {"phase": "training", "step": step, "carried": [step, value]}
        collector.add(Event(float(step), "beat", "a", 0, data).as_json())
    assert collector.summary()["received_bytes_per_step"] == pytest.approx(200)


def test_the_planned_document_is_what_the_run_directory_holds(tmp_path: Path) -> None:
    """Each place of the plan that a row names exists in a real plan."""
    from allranks.output.report_plan import ROWS, _find

    plan = a_plan()
    for what, _, planned_at, _ in ROWS:
        if planned_at[0] == "plan":
            assert _find({"plan": plan}, planned_at) is not None, what


def test_a_run_on_cpu_has_no_gpu_row() -> None:
    assert "peak GPU memory of a rank" not in rows(a_plan(on_gpus=False))
