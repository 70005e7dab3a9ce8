"""Experts as one leaf or in lockstep: what each way needs, which is recommended, and when neither is a good road."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from allranks import spec
from allranks.plan import Plan, make_plan
from allranks.plan.memory import FITS, TOO_CLOSE

from .published import GIB, LLAMA_8B, V3

pytestmark = pytest.mark.lengthy  # 44,544 modules, planned several times

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "deepseek-v3-24xa100.yaml"


def planned(config: dict = V3, nodes: int = 3, pip: str = "transformers==4.52.4", **changes) -> Plan:
    text = EXAMPLE.read_text().replace("transformers==4.52.4", pip)
    text = text.replace(
        "user: ubuntu", "  - {name: node-3, gpus: 8}\nuser: ubuntu" if nodes == 4 else "user: ubuntu"
    )
    run = spec.loads(text)
    given = {key: changes.pop(key) for key in ("experts", "experts_at_once") if key in changes}
    return make_plan(replace(run, train=replace(run.train, **given), **changes), config)


def test_the_seeds_run_fits_without_offload_as_they_saw_it() -> None:
    """Part 2 of the seeds: "50-65 GB per GPU" on 24 GPUs. The example pins their transformers."""
    plan = planned()
    assert plan.memory["verdict"] == FITS and not plan.findings
    assert "offload_param" not in plan.deepspeed["zero_optimization"]
    assert 50 <= plan.memory["gpu_bytes"]["total"] / GIB <= 65


def test_the_seeds_log_is_that_of_32_ranks() -> None:
    """Part 4's "MA 39.45 GB" (DeepSpeed counts GiB) is what a rank of 32 holds once partitioned; of 24: 52 GiB."""
    held = {
        n: sum(planned(nodes=n).memory["gpu_bytes"][part] for part in ("parameters", "lora")) for n in (3, 4)
    }
    assert held[4] / GIB == pytest.approx(39.45, rel=0.01)
    assert held[3] / GIB > 1.3 * 39.45


def test_each_way_is_planned_and_one_is_recommended() -> None:
    rows = {row["at_once"]: row for row in planned(experts_at_once=32).advice["experts"]}
    assert sorted(rows) == [0, 8, 32]
    assert [n for n, row in rows.items() if row["recommended"]] == [8]
    assert [n for n, row in rows.items() if row["planned"]] == [32]
    assert rows[0]["memory_verdict"] == TOO_CLOSE and rows[8]["memory_verdict"] == FITS
    sets = [rows[n]["working_set_bytes"] for n in (8, 32, 0)]
    assert sets == sorted(sets) and sets[0] < sets[-1] / 5
    # The experts are gathered forward, again and backward; a leaf stays whole between the last two.
    assert 1.4 < rows[8]["received_bytes_per_step"] / rows[0]["received_bytes_per_step"] < 1.5
    assert rows[0]["seconds_per_step"] < rows[8]["seconds_per_step"]


def test_where_both_fit_the_network_decides() -> None:
    """The seeds' 32 ranks: on Ethernet the leaf gathers less; on InfiniBand lockstep gathers while it computes."""
    slow = planned(nodes=4).advice["experts"]
    assert [row["way"] for row in slow if row["recommended"]] == ["leaf"]
    fabric = replace(spec.loads(EXAMPLE.read_text()).network, fabric="ib")
    fast = planned(nodes=4, network=fabric).advice["experts"]
    assert [row["way"] for row in fast if row["recommended"]] == ["lockstep"]


def test_a_group_of_all_experts_needs_what_the_leaf_needs() -> None:
    whole = planned(experts_at_once=256)
    assert whole.memory["gpu_bytes"]["working_set"] >= 2 * 256 * 3 * 7168 * 2048
    assert whole.deepspeed["zero_optimization"]["stage3_allgather_sequential"]
    assert "stage3_allgather_sequential" not in planned().deepspeed["zero_optimization"]


@pytest.mark.parametrize(
    ("config", "pip", "deepspeed", "said"),
    [
        (V3, "transformers==4.52.4", "none", "the weights are not split"),
        (LLAMA_8B, "transformers==4.52.4", "auto", "llama has no routed experts"),
    ],
)
def test_where_it_has_no_effect_it_is_said(config: dict, pip: str, deepspeed: str, said: str) -> None:
    plan = planned(config, pip=pip, deepspeed=deepspeed)
    (finding,) = [one for one in plan.findings if one.id == "experts-not-in-lockstep"]
    assert said in finding.saw
    leaf = planned(config, pip=pip, deepspeed=deepspeed, experts="leaf")
    assert leaf.memory == plan.memory and not [f for f in leaf.findings if f.id == "experts-not-in-lockstep"]


def test_fused_experts_are_gathered_whole_or_in_slices() -> None:
    plan = planned(pip="transformers==5.6.0", environment=spec.Environment(loader="own"))
    whole, slices = plan.advice["experts"]
    assert [whole["way"], slices["way"], slices["at_once"]] == ["fused", "slices", 8]
    assert slices["recommended"] and slices["planned"] and plan.memory["verdict"] == FITS
    assert whole["memory_verdict"] == TOO_CLOSE and whole["working_set_bytes"] >= 21 * GIB
    assert slices["working_set_bytes"] < whole["working_set_bytes"] / 4
    # forward, again and backward, and backward computes them once more
    assert 1.4 < slices["received_bytes_per_step"] / whole["received_bytes_per_step"] < 1.5
    assert "stage3_allgather_sequential" not in plan.deepspeed["zero_optimization"]
    assert not [one for one in plan.findings if one.id == "experts-not-in-lockstep"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"finetuning_type": "full"}, "the experts train"),
        ({}, "hpZ or qwZ gathers them"),
    ],
)
def test_fused_experts_that_stay_whole_say_why(arguments: dict, said: str) -> None:
    json = {"zero_optimization": {"stage": 3, "zero_hpz_partition_size": 8}}
    run = spec.loads(EXAMPLE.read_text().replace("transformers==4.52.4", "transformers==5.6.0"))
    train = replace(run.train, arguments={**run.train.arguments, **arguments})
    own = {} if arguments else {"deepspeed": "ds.json"}
    plan = make_plan(replace(run, train=train, **own), V3, deepspeed=None if arguments else json)
    (row,) = plan.advice["experts"]
    assert row["way"] == "fused" and "21.0 GiB" in row["reason"] and said in row["reason"]
    (finding,) = [one for one in plan.findings if one.id == "experts-not-in-lockstep"]
    assert said in finding.saw


def test_other_roads_are_named_where_they_are_far_better() -> None:
    far = [row for row in planned().advice["other_roads"] if "times_faster" in row]
    assert [row["name"].split()[0] for row in far] == ["Megatron", "a"]
    megatron, four_bits = far
    assert megatron["times_faster"] > 20 and "1.4 GB of activations" in megatron["why"]
    assert 3 < four_bits["times_faster"] < 5 and "bitsandbytes" in four_bits["why"]
    fabric = replace(spec.loads(EXAMPLE.read_text()).network, fabric="ib")
    assert not [row for row in planned(network=fabric).advice["other_roads"] if "times_faster" in row]
    assert planned(LLAMA_8B).advice["other_roads"] == []
