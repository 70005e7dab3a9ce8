from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from allranks.core import BLOCK, NOTE, UNKNOWN, Cluster, Facts, Node
from allranks.plan import make_plan
from allranks.plan.smaller_settings import node_lines
from allranks.spec import Container, Gpus, Launch, Network, Run, Train
from tests.harness.cost import cost

MLA = "q_a_proj,q_b_proj,kv_a_proj_with_mqa,kv_b_proj,o_proj"
V3 = {"model_type": "deepseek_v3"}
TINY = {
    "model_type": "deepseek_v3",
    "hidden_size": 64,
    "intermediate_size": 128,
    "moe_intermediate_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "n_routed_experts": 8,
    "first_k_dense_replace": 1,
    "q_lora_rank": 32,
    "kv_lora_rank": 16,
    "qk_nope_head_dim": 16,
    "qk_rope_head_dim": 8,
    "v_head_dim": 16,
    "vocab_size": 1024,
}


def a_run(arguments=None, gpus=(8, 8, 8), **changes) -> Run:
    nodes = tuple(Node(f"node-{i}", f"10.18.122.{130 + i}", i, count) for i, count in enumerate(gpus))
    defaults = {"lora_target": MLA, "lora_rank": 16, "per_device_train_batch_size": 1, "bf16": True}
    train = Train("llamafactory", {**defaults, **(arguments or {})})
    values = {
        "file": "run.yaml",
        "cluster": Cluster(nodes),
        "train": train,
        "lines": {"train.llamafactory.lora_target": 25},
        **changes,
    }
    return Run("deepseek-v3-lora", **values)


COSTS = {"checkpointing-holds-layers", "host-memory-loading", "gpu-memory-unknown", "memory-too-close"}
"""Findings about what a run costs: `test_budget.py` looks at them."""


def ids(plan) -> list[str]:
    return [finding.id for finding in plan.findings if finding.id not in COSTS]


def test_the_numbers_of_the_671b_model() -> None:
    plan = make_plan(a_run(), V3)
    assert plan.total_parameters == 671_026_404_352
    assert plan.trainable_parameters == 97_006_592
    assert plan.model is not None
    assert plan.model.active_parameters == 37_552_282_624  # "37B activated for each token", arXiv 2412.19437
    assert plan.model.largest_unit == ("model.layers.3.mlp", 11_320_164_352)
    assert not ids(plan)


def test_suffixes_and_expressions_train_what_the_names_train() -> None:
    suffixes = ",".join(f"self_attn.{name}" for name in MLA.split(","))
    assert make_plan(a_run({"lora_target": suffixes}), V3).trainable_parameters == 97_006_592
    pattern = make_plan(
        a_run({"lora_target": r".*self_attn\.(q_a_proj|q_b_proj|kv_a_proj_with_mqa|kv_b_proj|o_proj)"}), V3
    )
    assert pattern.trainable_parameters == 97_006_592
    assert pattern.trainer["lora_target"] == MLA, "LLaMA-Factory only takes names"


def test_an_expression_for_some_layers_is_handed_over_as_full_names() -> None:
    plan = make_plan(a_run({"lora_target": r"model\.layers\.[01]\.self_attn\.o_proj"}), V3)
    assert plan.trainer["lora_target"] == ("model.layers.0.self_attn.o_proj,model.layers.1.self_attn.o_proj")
    assert plan.trainable_parameters == 2 * 16 * (128 * 128 + 7168)


def test_part_2s_target_list_is_caught() -> None:
    plan = make_plan(a_run({"lora_target": "q_proj,v_proj,k_proj,o_proj"}), V3)
    assert plan.trainable_parameters == 22_986_752
    finding = plan.findings[0]
    assert ids(plan) == ["lora-targets-missing"]
    assert (finding.id, finding.verdict) == ("lora-targets-missing", BLOCK)
    assert (finding.where.file, finding.where.line) == ("run.yaml", 25)
    assert (
        finding.saw == "train.llamafactory.lora_target: q_proj, v_proj, k_proj exist in no deepseek_v3 layer."
    )
    assert finding.why == "only o_proj would train: 22,986,752 parameters instead of 97,006,592."
    assert finding.fix == f"lora_target: {MLA}"


def test_targets_that_match_nothing_or_no_linear_layer_block() -> None:
    nothing = make_plan(a_run({"lora_target": "query_key_value"}), V3)
    assert nothing.trainable_parameters == 0 and ids(nothing) == ["lora-targets-missing"]
    assert "0 parameters instead of" in nothing.findings[0].why
    container = make_plan(a_run({"lora_target": "mlp,o_proj"}), V3)
    assert ids(container) == ["lora-target-unsupported"]
    broken = make_plan(a_run({"lora_target": "(q_proj"}), V3)
    assert ids(broken) == ["lora-targets-missing"] and broken.trainable_parameters is None


def test_the_tiny_model_of_the_demo() -> None:
    plan = make_plan(a_run(gpus=(1, 1, 1)), TINY)
    assert plan.trainable_parameters == 28_032


def test_ranks_follow_unequal_slots() -> None:
    rows = make_plan(a_run(gpus=(2, 1, 3)), V3).ranks
    assert [(row["rank"], row["node_rank"], row["local_rank"], row["gpu"]) for row in rows] == [
        (0, 0, 0, 0),
        (1, 0, 1, 1),
        (2, 1, 0, 0),
        (3, 2, 0, 0),
        (4, 2, 1, 1),
        (5, 2, 2, 2),
    ]
    assert rows[2]["node"] == "node-1" and rows[2]["address"] == "10.18.122.131"


def test_a_node_listed_twice_blocks() -> None:
    twice = Cluster((Node("a", "10.0.0.1", 0, 8), Node("b", "10.0.0.1", 1, 8)))
    plan = make_plan(a_run(cluster=twice), V3)
    assert ids(plan) == ["node-twice"] and "10.0.0.1" in plan.findings[0].saw
    by_name = Cluster((Node("a", "10.0.0.1", 0, 8), Node("a", "10.0.0.2", 1, 8)))
    assert ids(make_plan(a_run(cluster=by_name), V3)) == ["node-twice"]


def test_two_ranks_on_one_gpu_block_on_one_host_only() -> None:
    nodes = (Node("a", "127.0.0.1", 0, 1), Node("b", "127.0.0.1", 1, 1))
    shared = make_plan(a_run(cluster=Cluster(nodes), same_host=True), V3)
    assert ids(shared) == ["gpu-twice"] and shared.findings[0].where.rank == 1
    own = tuple(
        Node(node.name, node.address, node.rank, 1, env=(("CUDA_VISIBLE_DEVICES", str(node.rank)),))
        for node in nodes
    )
    apart = make_plan(a_run(cluster=Cluster(own), same_host=True), V3)
    assert not ids(apart) and [row["gpu"] for row in apart.ranks] == [0, 1]
    on_cpu = make_plan(a_run({"use_cpu": True}, cluster=Cluster(nodes), same_host=True), V3)
    assert not ids(on_cpu) and [row["gpu"] for row in on_cpu.ranks] == [None, None]


def test_more_ranks_than_visible_gpus_block() -> None:
    plan = make_plan(a_run(env={"CUDA_VISIBLE_DEVICES": "0,1,2,3"}), V3)
    assert ids(plan) == ["gpu-count"] * 3


def test_the_environment_of_a_gpu_run() -> None:
    run = a_run(network=Network(interface="eth0"), env={"OMP_NUM_THREADS": "4", "NCCL_DEBUG": "WARN"})
    env = make_plan(run, V3).environment
    assert env["all"] == {
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        "GLOO_SOCKET_IFNAME": "eth0",
        "NCCL_DEBUG": "WARN",
        "NCCL_SOCKET_IFNAME": "=eth0",
        "OMP_NUM_THREADS": "4",
        "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True",
    }
    assert env["nodes"] == {"node-0": {}, "node-1": {}, "node-2": {}}


def test_a_nodes_own_interface_and_environment_stand_on_top() -> None:
    nodes = (
        Node("a", "10.0.0.1", 0, 1, interface="eth0", env=(("NCCL_DEBUG", "INFO"),)),
        Node("b", "10.0.0.2", 1, 1, interface="ens5"),
    )
    env = make_plan(a_run(cluster=Cluster(nodes), env={"NCCL_DEBUG": "WARN"}), V3).environment
    assert env["nodes"]["a"] == {
        "GLOO_SOCKET_IFNAME": "eth0",
        "NCCL_DEBUG": "INFO",
        "NCCL_SOCKET_IFNAME": "=eth0",
    }
    assert env["nodes"]["b"]["GLOO_SOCKET_IFNAME"] == "ens5"
    assert "GLOO_SOCKET_IFNAME" not in env["all"]


def test_what_the_user_sets_for_all_wins_over_a_found_interface() -> None:
    facts = {
        f"node-{i}": Facts(f"node-{i}", 0.0, {"network": {"interface_to_head": f"eth{i}"}}) for i in range(3)
    }
    env = make_plan(a_run(env={"GLOO_SOCKET_IFNAME": "bond0"}), V3, facts).environment
    assert env["all"]["GLOO_SOCKET_IFNAME"] == "bond0"
    assert env["nodes"]["node-2"] == {"NCCL_SOCKET_IFNAME": "=eth2"}


def test_the_demo_talks_over_the_loopback_and_asks_nothing_of_gpus() -> None:
    nodes = tuple(Node(f"node-{i}", "127.0.0.1", i, 1) for i in range(3))
    plan = make_plan(a_run({"use_cpu": True}, cluster=Cluster(nodes), same_host=True), TINY)
    assert plan.environment["all"] == {"GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
    assert plan.deepspeed is not None
    assert plan.deepspeed["zero_optimization"]["overlap_comm"] is False
    assert "offload_param" not in plan.deepspeed["zero_optimization"]


def test_deepspeed_for_each_way_to_ask() -> None:
    assert (
        make_plan(a_run(deepspeed="zero3"), V3).deepspeed["zero_optimization"]["reduce_bucket_size"]
        == 500_000_000
    )  # type: ignore[index]
    offload = make_plan(a_run(deepspeed="zero3-offload"), V3).deepspeed
    assert offload is not None and offload["zero_optimization"]["offload_param"] == {
        "device": "cpu",
        "pin_memory": True,
    }
    assert make_plan(a_run(deepspeed="/x/ds.json"), V3).deepspeed is None
    assert make_plan(a_run(deepspeed="/x/ds.json"), V3, deepspeed={"a": 1}).deepspeed == {"a": 1}
    command = a_run(train=Train("command", command=("train.py",)))
    assert make_plan(command).deepspeed is None


def test_cpus_are_meant_only_if_the_run_file_names_them() -> None:
    """Two nodes on this machine that show no GPU are not: their driver may be dead."""
    nodes = (Node("a", "127.0.0.1", 0, 2), Node("b", "127.0.0.1", 1, 2))
    script = a_run(cluster=Cluster(nodes), same_host=True, train=Train("command", command=("train.py",)))
    none = {name: Facts(name, 0.0, {"gpus": {"list": []}}) for name in ("a", "b")}
    for facts in (None, none):
        plan = make_plan(script, None, facts)
        assert [row["gpu"] for row in plan.ranks] == [0, 1, 0, 1]
        told = [finding.fix for finding in plan.findings if finding.id == "gpu-twice"]
        assert len(told) == 2 and all("gpus: {count: 1, model: cpu}" in fix for fix in told)
    on_cpu = make_plan(replace(script, gpus=Gpus(2, "cpu")), None, none)
    assert {row["gpu"] for row in on_cpu.ranks} == {None}
    assert [finding.id for finding in on_cpu.findings] == ["model-config-unreadable"]
    # A script that looks for a GPU by itself would take one.
    assert on_cpu.environment["all"]["CUDA_VISIBLE_DEVICES"] == ""
    own = replace(script, gpus=Gpus(2, "cpu"), env={"CUDA_VISIBLE_DEVICES": "3"})
    assert make_plan(own).environment["all"]["CUDA_VISIBLE_DEVICES"] == "3"


def test_every_value_of_the_json_has_its_reason() -> None:
    for profile in ("auto", "zero3", "zero3-offload"):
        plan = make_plan(a_run(deepspeed=profile), V3)
        assert plan.deepspeed_reasons and all(plan.deepspeed_reasons.values())
        assert "as written in the file" not in plan.deepspeed_reasons.values()


def test_an_unknown_model_leaves_the_numbers_open_and_could_not_be_told() -> None:
    for run, config in (
        (a_run(), None),
        (a_run(), {"model_type": "no_such"}),
        (a_run(), {"hidden_size": 3}),
        (a_run(), {**V3, "hidden_size": "many"}),
        (a_run(train=Train("command", command=("train.py",))), None),
    ):
        plan = make_plan(run, config)
        assert plan.trainable_parameters is None and plan.total_parameters is None
        (finding,) = plan.findings
        verdict = UNKNOWN if run.train.kind == "llamafactory" else NOTE
        assert (finding.id, finding.verdict, finding.stops_launch) == (
            "model-config-unreadable",
            verdict,
            verdict == UNKNOWN,
        )
        assert plan.as_json()["memory"]["gpu_bytes"]["total"] is None


def test_experts_are_linear_layers_before_transformers_5() -> None:
    old = Container("docker", "x", pip=("tensorboard<3", "transformers==4.52.4"))
    arguments = {"lora_target": "all"}
    now, before = make_plan(a_run(arguments), V3), make_plan(a_run(arguments, container=old), V3)
    assert now.total_parameters == before.total_parameters
    experts = 58 * 256 * 3 * 16 * (7168 + 2048)
    assert before.trainable_parameters - now.trainable_parameters == experts  # type: ignore[operator]


def test_the_document_has_the_contracts_keys_and_a_stable_digest() -> None:
    plan = make_plan(a_run(), V3)
    data = json.loads(json.dumps(plan.as_json()))
    keys = {"trainable_parameters", "total_parameters", "memory", "traffic", "deepspeed", "environment"}
    assert keys | {"ranks", "findings", "digest"} <= set(data)
    assert set(data["memory"]["gpu_bytes"]) >= {
        "parameters",
        "working_set",
        "gradients",
        "optimizer",
        "activations",
        "total",
    }
    assert data["digest"] == make_plan(a_run(), V3).digest != make_plan(a_run(gpus=(8, 8)), V3).digest


def test_launch_and_spares_do_not_change_the_ranks() -> None:
    assert make_plan(a_run(launch=Launch(with_="slurm")), V3).ranks == make_plan(a_run(), V3).ranks


def test_planning_671b_is_fast() -> None:
    """A guard against a slip in the arithmetic. The figure itself is a benchmark."""
    run = a_run(container=Container("docker", "x", pip=("transformers==4.52.4",)))
    assert cost(lambda: make_plan(run, V3).as_json(), enough=2) < 2


def test_the_room_imports_no_heavy_library() -> None:
    code = "import sys, allranks.plan; print([m for m in ('torch', 'numpy', 'yaml', 'rich') if m in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert shown.stdout.strip() == "[]", shown.stderr


@pytest.mark.parametrize("count", [0, 1])
def test_models_without_layers_are_told_apart_from_small_ones(count: int) -> None:
    plan = make_plan(a_run(), {**TINY, "num_hidden_layers": count})
    assert (plan.total_parameters is None) == (count == 0)


@pytest.mark.parametrize(
    ("names", "more", "line"),
    [
        (("gpu07", "gpu08"), 1, "- {name: gpu09, gpus: 8}"),
        (("gpu07", "gpu08"), 2, '- {name: "gpu[09-10]", gpus: 8}'),
        (("n99",), 1, "- {name: n100, gpus: 8}"),
        (("n-1",), 2, '- {name: "n-[2-3]", gpus: 8}'),
        (("head",), 1, "- {name: head-1, gpus: 8}"),
        ((), 3, '- {name: "node-[1-3]", gpus: 8}'),
    ],
)
def test_the_names_of_more_nodes_go_on_after_the_last(names: tuple[str, ...], more: int, line: str) -> None:
    case = SimpleNamespace(node_names=names, nodes=(8, 4))
    assert node_lines(cast(Any, case), more) == line
