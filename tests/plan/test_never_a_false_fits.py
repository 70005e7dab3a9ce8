"""What a verdict must not overlook: evaluation, pairs, reference models, hosts nobody asked; and formulas' sources."""

from __future__ import annotations

import ast
import itertools
import json
import re
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allranks.core import BLOCK, UNKNOWN, Cluster, Facts, Node
from allranks.plan import make_plan, memory
from allranks.plan.memory import DOES_NOT_FIT, FITS, TOO_CLOSE, Memory
from allranks.spec import Container, Gpus, Run, Train
from tests.plan.published import GIB, LLAMA_8B, ROOT, V3


def a_run(arguments: dict | None = None, nodes: int = 1, model: str = "A100-SXM4-80GB", **changes) -> Run:
    given = {"lora_target": "o_proj", "per_device_train_batch_size": 1, "bf16": True, **(arguments or {})}
    values = {
        "cluster": Cluster(tuple(Node(f"n{i}", f"10.0.0.{i + 1}", i, 8) for i in range(nodes))),
        "train": Train("llamafactory", given),
        "gpus": Gpus(8, model),
        "file": "run.yaml",
        **changes,
    }
    return Run("x", **values)


def ids(plan) -> set[str]:
    return {finding.id for finding in plan.findings}


def total(plan) -> int:
    return plan.memory["gpu_bytes"]["total"]


# ---- the verdict ----


@settings(max_examples=300, deadline=None)
@given(
    needed=st.integers(1, 400 * GIB),
    usable=st.one_of(st.none(), st.integers(1, 400 * GIB)),
    host=st.integers(1, 4 * 2**40),
    host_usable=st.one_of(st.none(), st.integers(1, 4 * 2**40)),
    on_gpu=st.booleans(),
    uncounted=st.sampled_from(["", "a reference model"]),
)
def test_fits_means_that_all_of_it_was_seen_to_fit(
    needed, usable, host, host_usable, on_gpu, uncounted
) -> None:
    phases = {"load": host, "train": 1, "save": 1, "save_stock": 2**60}
    memory = Memory({"parameters": needed}, "loss", usable, phases, host_usable, on_gpu, uncounted)
    fine_gpu = usable is not None and needed <= 0.92 * usable
    fine_host = host <= 0.92 * host_usable if host_usable is not None else on_gpu and host < 2**40
    assert (memory.verdict == FITS) == ((fine_gpu or not on_gpu) and fine_host and not uncounted)
    short = (on_gpu and usable is not None and needed > 1.05 * usable) or (
        host_usable is not None and host > 1.05 * host_usable
    )
    assert (memory.verdict == DOES_NOT_FIT) == short


def test_hosts_that_nobody_asked_are_not_taken_for_granted() -> None:
    pins = Container("docker", "x", pip=("transformers==4.52.4",))
    arguments = {"lora_target": "q_a_proj", "disable_gradient_checkpointing": False}
    run = a_run(arguments, model="H200", container=pins, deepspeed="zero3-offload")
    blind = make_plan(run, V3)
    assert blind.memory["host_bytes"] > 2**40 and blind.memory["verdict"] is None
    (finding,) = [f for f in blind.findings if f.id == "host-memory-unknown"]
    assert (finding.verdict, finding.stops_launch) == (UNKNOWN, True)
    seen = {"n0": Facts("n0", 0.0, {"system": {"memory": {"total_bytes": 3 * 2**40}}})}
    assert make_plan(run, V3, seen).memory["verdict"] == FITS


# ---- what else a run keeps ----


def test_evaluation_with_its_default_of_8_samples_counts() -> None:
    plain, evaluated = make_plan(a_run(), LLAMA_8B), make_plan(a_run({"eval_strategy": "steps"}), LLAMA_8B)
    assert evaluated.memory["gpu_moment"] == "evaluation"
    assert evaluated.memory["gpu_bytes"]["logits"] == 12 * 128256 * 8 * 2048
    assert total(evaluated) > total(plain) + 10 * GIB
    fused = make_plan(a_run({"do_eval": True, "enable_liger_kernel": True}), LLAMA_8B)
    assert fused.memory["gpu_moment"] == "evaluation", "Liger fuses the loss in training alone"
    one = make_plan(a_run({"do_eval": True, "per_device_eval_batch_size": 1}), LLAMA_8B)
    assert total(one) == total(plain)


def test_preferences_are_learnt_from_pairs() -> None:
    sft, dpo = make_plan(a_run(), LLAMA_8B), make_plan(a_run({"stage": "dpo"}), LLAMA_8B)
    parts, paired = sft.memory["gpu_bytes"], dpo.memory["gpu_bytes"]
    assert paired["logits"] == 2 * parts["logits"] or paired["activations"] >= 2 * parts["activations"]
    assert dpo.memory["verdict"] == FITS and "stage-not-planned" not in ids(dpo)


@pytest.mark.parametrize(
    "arguments",
    [
        {"stage": "ppo"},
        {"stage": "dpo", "finetuning_type": "full"},
        {"stage": "kto", "finetuning_type": "full"},
    ],
)
def test_models_beside_the_model_leave_it_open(arguments: dict) -> None:
    plan = make_plan(a_run(arguments, nodes=8, model="H200"), LLAMA_8B)
    assert plan.memory["verdict"] is None
    (finding,) = [f for f in plan.findings if f.id == "stage-not-planned"]
    assert (finding.verdict, finding.stops_launch) == (UNKNOWN, True)
    without = {"stage": "dpo", "finetuning_type": "full", "pref_loss": "simpo"}
    assert "stage-not-planned" not in ids(make_plan(a_run(without, nodes=8), LLAMA_8B))


# ---- ZeRO's stages, offloads, quantized base: each against the others ----


JSONS = {
    "none": {},
    "zero1": {"zero_optimization": {"stage": 1}},
    "zero2": {"zero_optimization": {"stage": 2}},
    "zero2-offload": {"zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"}}},
    "zero3": {"zero_optimization": {"stage": 3}},
    "zero3-optimizer": {"zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"}}},
    "zero3-both": {
        "zero_optimization": {
            "stage": 3,
            "offload_optimizer": {"device": "cpu"},
            "offload_param": {"device": "cpu"},
        }
    },
    "zero3-nvme": {
        "zero_optimization": {
            "stage": 3,
            "offload_optimizer": {"device": "nvme"},
            "offload_param": {"device": "nvme"},
        }
    },
}


@pytest.mark.parametrize("method", ["lora", "full"])
def test_what_each_stage_and_offload_leaves_on_the_gpu_and_puts_on_the_host(method: str) -> None:
    found = {}
    for name, content in JSONS.items():
        run = a_run({"finetuning_type": method}, deepspeed="/own.json", model="H200")
        found[name] = make_plan(run, LLAMA_8B, deepspeed=content).memory
    resting = {
        name: sum(memory["gpu_bytes"][part] for part in ("parameters", "lora", "gradients", "optimizer"))
        for name, memory in found.items()
    }
    host = {name: memory["host_parts"]["train"] for name, memory in found.items()}
    order = ["none", "zero1", "zero2", "zero3", "zero3-optimizer", "zero3-both"]
    for more, less in itertools.pairwise(order):
        assert resting[more] >= resting[less], (more, less)
    assert found["zero2-offload"]["gpu_bytes"]["optimizer"] == 0
    assert host["zero3-both"] > host["zero3-optimizer"] > host["zero3"] == host["none"] == host["zero3-nvme"]


def test_a_quantized_base_counts_4_bits_for_linears_alone() -> None:
    whole, four = make_plan(a_run(), LLAMA_8B), make_plan(a_run({"quantization_bit": 4}), LLAMA_8B)
    eight = make_plan(a_run({"quantization_bit": 8}), LLAMA_8B)
    sizes = [plan.memory["gpu_bytes"]["parameters"] / plan.total_parameters for plan in (four, eight)]
    assert 0.52 < sizes[0] < 0.8 < sizes[1] < 1.2 and whole.memory["gpu_bytes"]["parameters"] < 3 * GIB


STORED = {
    "gptq": ({"quant_method": "gptq", "bits": 4, "group_size": 128}, 4 + 20 / 128),
    "awq": ({"quant_method": "awq", "bits": 4, "group_size": 64}, 4 + 20 / 64),
    "gptq-8": ({"quant_method": "gptq", "bits": 8, "group_size": -1}, 8 + 24 / 4096),
    "bitsandbytes": ({"quant_method": "bitsandbytes", "load_in_4bit": True}, 4.5),
    "fp8": ({"quant_method": "fp8", "weight_block_size": [128, 128]}, 16.0),
    "mxfp4": ({"quant_method": "mxfp4"}, 16.0),
    "damaged": ({"quant_method": "gptq", "bits": "four"}, 16.0),
}


@pytest.mark.parametrize("name", STORED)
def test_a_base_that_is_stored_quantized_counts_as_it_rests_in_memory(name: str) -> None:
    stored, bits = STORED[name]
    run = a_run({"quantization_bit": 8}, deepspeed="none")
    plan = make_plan(run, {**LLAMA_8B, "quantization_config": stored})
    if bits == 16.0:  # LLaMA-Factory makes bf16 of it, and `quantization_bit` counts
        assert plan.memory["gpu_bytes"] == make_plan(run, LLAMA_8B).memory["gpu_bytes"]
        return
    outside = 2 * 128256 * 4096 + 65 * 4096  # embedding, head and norms
    linear = plan.total_parameters - outside
    assert plan.memory["gpu_bytes"]["parameters"] == pytest.approx(linear * bits / 8 + outside * 2, rel=1e-6)
    assert not any("ZeRO-3" in row["name"] and row["feasible"] for row in plan.advice["faster"])


# ---- what a change would do ----


def test_infiniband_left_off_is_worth_a_word() -> None:
    run = a_run({"lora_target": "all"}, nodes=4, env={"NCCL_IB_DISABLE": "1"})
    plan = make_plan(run, LLAMA_8B)
    row = next(row for row in plan.advice["faster"] if "smoke" in row["name"])
    assert row["feasible"] and row["seconds_per_step"] < plan.traffic["seconds_per_step"] / 2
    assert row["cost"] == "if the nodes have 8 × 200 Gb InfiniBand"
    ports = {"mlx5_0": {"ports": {"1": {"state": "ACTIVE", "rate_gbits": 400.0}}}}
    facts = {f"n{i}": Facts(f"n{i}", 0.0, {"infiniband": {"devices": ports}}) for i in range(4)}
    seen = make_plan(run, LLAMA_8B, facts)
    row = next(row for row in seen.advice["faster"] if "smoke" in row["name"])
    assert row["feasible"] and row["cost"] == ""


def test_cost_is_gpu_hours_times_the_price() -> None:
    traffic = make_plan(a_run({"max_steps": 100}, nodes=2), LLAMA_8B, price=2.5).traffic
    assert traffic["gpu_hours"] == pytest.approx(traffic["seconds"] * 16 / 3600)
    assert traffic["cost"] == pytest.approx(2.5 * traffic["gpu_hours"])


def test_the_first_step_waits_for_storage_and_for_rank_0() -> None:
    old = Container("docker", "x", pip=("transformers==4.52.4", "deepspeed==0.18.9"))
    before = make_plan(a_run(nodes=4, container=old), LLAMA_8B).traffic
    now = make_plan(a_run(nodes=4), LLAMA_8B).traffic
    for traffic in (before, now):
        assert traffic["first_step"]["sending_seconds"] == pytest.approx(
            2 * traffic["loading"]["bytes"] / 12.5e9
        )
    assert (before["loading"]["readers"], now["loading"]["readers"]) == (1, 4)
    for traffic in (before, now):
        for name, seconds in traffic["first_step"]["seconds"].items():
            assert seconds > traffic["loading"]["seconds"][name] + traffic["seconds_per_step"]


@pytest.mark.parametrize(
    ("content", "saw"),
    [
        ({"optimizer": {"type": "OneBitAdam"}}, "optimizer.type: OneBitAdam"),
        ({"optimizer": {"type": "ZeroOneAdam"}}, "optimizer.type: ZeroOneAdam"),
        ({"communication_data_type": "fp8"}, "communication_data_type: fp8"),
        ({"zero_optimization": {"stage": 4}}, "stage: 4"),
        ({"zero_optimization": {"stage": 3}, "prescale_gradients": True}, "prescale_gradients"),
    ],
)
def test_values_that_deepspeed_refuses_block_with_the_reason(content: dict, saw: str) -> None:
    plan = make_plan(a_run(deepspeed="/own.json"), LLAMA_8B, deepspeed=content)
    (finding,) = [f for f in plan.findings if f.id == "deepspeed-refuses"]
    assert finding.verdict == BLOCK and saw in finding.saw and finding.why and finding.fix


@pytest.mark.parametrize("kind", ["fp16", "bf16", "fp32", "FP32"])
def test_communication_types_are_taken(kind: str) -> None:
    content = {"communication_data_type": kind, "optimizer": {"type": "AdamW"}}
    assert "deepspeed-refuses" not in ids(make_plan(a_run(deepspeed="/x.json"), LLAMA_8B, deepspeed=content))


@pytest.mark.training
def test_the_installed_deepspeed_agrees_on_what_it_refuses() -> None:
    from deepspeed.runtime.config import DEEPSPEED_OPTIMIZERS, get_communication_data_type

    assert not {"onebitadam", "zerooneadam", "onebitlamb"} & set(DEEPSPEED_OPTIMIZERS)
    with pytest.raises(ValueError, match="communication_data_type"):
        get_communication_data_type({"communication_data_type": "fp8"})
    assert get_communication_data_type({"communication_data_type": "BF16"}) is not None


# ---- sources ----

SOURCE = re.compile(
    r"arXiv|DeepSpeed|transformers|torch|NCCL|PEFT|LLaMA-Factory|data sheet|AzNHC|liger|bitsandbytes|Measured|assumed|"
    r"nccl-tests|`\w+\.py`|glibc|seen"
)
FORMULAS = (
    "memory",
    "host",
    "traffic",
    "activations",
    "gather",
    "lora",
    "first_step",
    "planning_input",
    "hardware",
    "zero",
)


def calculates(function: ast.FunctionDef) -> bool:
    """Whether it multiplies or divides by a number that is written there: a formula with a constant of its own."""
    return any(
        isinstance(node, ast.BinOp)
        and isinstance(node.op, (ast.Mult, ast.Div))
        and any(isinstance(side, ast.Constant) for side in (node.left, node.right))
        for node in ast.walk(function)
    )


@pytest.mark.parametrize("name", FORMULAS)
def test_every_formula_names_its_source(name: str) -> None:
    """In its own docstring, or in the head of its module where that names one for all of them."""
    tree = ast.parse((ROOT / "src" / "allranks" / "plan" / f"{name}.py").read_text())
    head = ast.get_docstring(tree) or ""
    found = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and calculates(node)]
    silent = [f.name for f in found if not SOURCE.search((ast.get_docstring(f) or "") + head)]
    assert not silent, f"{name}.py: {', '.join(silent)}"
    assert TOO_CLOSE == "too-close"


# ---- what a probe measured ----

PROBE = {
    "links": [
        {"from": "n0", "to": "n1", "bytes_per_second": 11e9},
        {"from": "n1", "to": "n0", "bytes_per_second": 9e9},
        {"from": "n1", "to": "n2", "bytes_per_second": None},
    ],
    "collectives": [
        {"step": "careful", "backend": "nccl", "ranks": 16, "passed": True, "bytes_per_second": 1.1e9},
        {"step": "infiniband", "backend": "nccl", "ranks": 16, "passed": True, "bytes_per_second": 170e9},
        {"step": "all", "backend": "nccl", "ranks": 16, "passed": False, "bytes_per_second": 300e9},
        {"step": "cpu", "backend": "gloo", "ranks": 2, "passed": True, "bytes_per_second": 900e9},
    ],
}


def test_probed_bandwidth_takes_the_tables_place() -> None:
    run = a_run({"lora_target": "all"}, nodes=2)
    table = make_plan(run, LLAMA_8B).traffic
    probed = make_plan(run, LLAMA_8B, probe=PROBE).traffic
    first = probed["networks"][0]
    assert (first["bytes_per_second"], first["assumed"]) == (170e9, False)
    assert first["source"] == "probed: infiniband, 16 ranks" and len(probed["networks"]) == 3
    assert probed["seconds_per_step"] < table["seconds_per_step"]
    slow = make_plan(run, LLAMA_8B, probe={**PROBE, "collectives": PROBE["collectives"][2:]}).traffic
    assert slow["networks"][0]["bytes_per_second"] == 9e9
    assert slow["networks"][0]["source"] == "probed: the slowest link, n1 to n0"


@pytest.mark.parametrize(
    "probe", [{}, {"links": None, "collectives": [3]}, {"links": [{"bytes_per_second": "x"}]}]
)
def test_a_probe_without_figures_changes_nothing(probe: dict) -> None:
    run = a_run(nodes=2)
    assert make_plan(run, LLAMA_8B, probe=probe).traffic == make_plan(run, LLAMA_8B).traffic


def test_the_probes_own_document_is_understood() -> None:
    from allranks.plan.measured_bandwidth import network_of
    from allranks.probe.results import Collective, Link, RankSaid, Results

    ranks = tuple(
        RankSaid(r, f"n{r}", "done", 0, wrong=0, numbers=1, seconds=0.1, bytes=10**9) for r in range(2)
    )
    whole = Results(
        ("n0", "n1"), links=(Link("n0", "n1", 5e9),), collectives=(Collective("all", "nccl", ranks, 1.0),)
    )
    found = network_of(json.loads(json.dumps(whole.as_json())))
    assert found is not None and found.bytes_per_second == pytest.approx(1e10) and not found.assumed


def test_a_small_base_is_faster_whole_on_every_gpu() -> None:
    plan = make_plan(a_run(nodes=4), LLAMA_8B)
    (row,) = [row for row in plan.advice["best"] if row["setting"] == "deepspeed: none"]
    assert row["seconds_per_step"] < plan.traffic["seconds_per_step"] / 3
    large = make_plan(a_run(nodes=4, container=Container("docker", "x", pip=("transformers==4.52.4",))), V3)
    (row,) = [row for row in large.advice["faster"] if row["setting"] == "deepspeed: none"]
    assert not row["feasible"] and row["memory_verdict"] == DOES_NOT_FIT


def test_weights_gathered_in_8_bits_need_room_for_both_forms() -> None:
    short = {"cutoff_len": 64, "enable_liger_kernel": True}
    content = {"zero_optimization": {"stage": 3}}
    plain = make_plan(a_run(short, deepspeed="/x.json"), LLAMA_8B, deepspeed=content)
    content = {"zero_optimization": {"stage": 3, "zero_quantized_weights": True}}
    rounded = make_plan(a_run(short, deepspeed="/x.json"), LLAMA_8B, deepspeed=content)
    assert total(rounded) > total(plain)
    assert 2 * rounded.traffic["by_collective"]["all_gather"] == pytest.approx(
        plain.traffic["by_collective"]["all_gather"], rel=0.01
    )


@pytest.mark.parametrize(("stage", "values"), [(3, 1e9), (2, 3.8e9), (1, 3.8e9)])
def test_the_optimizers_float32_gradients_are_the_ranks_whole_part_below_stage_3(
    stage: int, values: float
) -> None:
    zero = SimpleNamespace(enabled=True, offload_optimizer=None, sub_group=1e9, stage=stage)
    case = SimpleNamespace(zero=zero, trained=SimpleNamespace(parameters=7.6e9), ranks=2)
    assert memory._step(case) == 4.0 * values  # type: ignore[arg-type]  # a stand-in
