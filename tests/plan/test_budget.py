"""What a run costs: the figures of the 671B model, what fits, and what is said where it does not."""

from __future__ import annotations

import dataclasses
import json
from functools import cache

import pytest

from allranks.core import BLOCK, NOTE, UNKNOWN, WARN, Cluster, Facts, Node
from allranks.plan import Plan, ids, make_plan, page
from allranks.plan.budget import case_of
from allranks.plan.hardware import gpu_named
from allranks.plan.memory import DOES_NOT_FIT, FITS, TOO_CLOSE
from allranks.spec import Container, Environment, Gpus, Run, Train
from tests.plan.published import GIB, LLAMA_8B, ROOT, V3

SHORT = {**V3, "num_hidden_layers": 6}
MLA = "q_a_proj,q_b_proj,kv_a_proj_with_mqa,kv_b_proj,o_proj"
OLD = Container("docker", "image", pip=("transformers==4.52.4",))


def seeds_run(nodes: int = 3, arguments: dict | None = None, **changes) -> Run:
    given = {
        "lora_target": MLA,
        "lora_rank": 16,
        "per_device_train_batch_size": 1,
        "max_steps": 2000,
        "bf16": True,
        **(arguments or {}),
    }
    values = {
        "cluster": Cluster(tuple(Node(f"node-{i}", f"10.0.0.{i + 1}", i, 8) for i in range(nodes))),
        "train": Train("llamafactory", given),
        "gpus": Gpus(8, "A100-SXM4-80GB"),
        "container": OLD,
        "file": "run.yaml",
        **changes,
    }
    return Run("seeds", **values)


@cache
def seeds_plan(nodes: int = 3):
    return make_plan(seeds_run(nodes), V3, dataset_samples=5_437_649)


def small_run(
    arguments: dict | None = None, gpus: int = 8, model: str | None = "A100-SXM4-80GB", **changes
) -> Run:
    given = {
        "lora_target": "q_proj,v_proj",
        "per_device_train_batch_size": 1,
        "bf16": True,
        **(arguments or {}),
    }
    values = {
        "cluster": Cluster((Node("one", "10.0.0.1", 0, gpus),)),
        "train": Train("llamafactory", given),
        "gpus": Gpus(gpus, model),
        "file": "run.yaml",
        **changes,
    }
    return Run("small", **values)


def found(plan, name: str):
    return next((finding for finding in plan.findings if finding.id == name), None)


def gib(plan, part: str) -> float:
    return plan.memory["gpu_bytes"][part] / GIB


# ---- the seeds' run ----


def test_the_shard_and_the_working_set_at_24_and_32_ranks() -> None:
    at_24, at_32 = seeds_plan(3), seeds_plan(4)
    assert round(gib(at_24, "parameters"), 2) == 52.08
    assert round(gib(at_32, "parameters"), 2) == 39.06
    assert round(gib(at_24, "working_set"), 1) == 21.1
    before_activations = sum(
        gib(at_24, p) for p in ("parameters", "working_set", "lora", "gradients", "optimizer")
    )
    assert 73.2 < before_activations < 73.8
    assert at_24.memory["verdict"] == TOO_CLOSE and at_32.memory["verdict"] == FITS


def test_the_parts_add_up_to_the_total() -> None:
    parts = dict(seeds_plan().memory["gpu_bytes"])
    total = parts.pop("total")
    assert sum(parts.values()) == total


def test_too_close_says_why_and_what_fits() -> None:
    plan = seeds_plan()
    finding = found(plan, "memory-too-close")
    assert finding.verdict == WARN
    assert "A100-SXM4-80GB has 79.1 GiB to use" in finding.saw
    assert "parameters 52.1" in finding.why and "working set 21.1" in finding.why
    fixes = [
        "under train: experts: lockstep",
        "deepspeed: zero3-offload",
        "under nodes: - {name: node-3, gpus: 8}",
    ]
    assert finding.fix == " · or ".join(fixes)
    assert any("of host memory per node" in line for line in finding.evidence)


def test_bytes_and_time_on_both_networks() -> None:
    traffic = seeds_plan().traffic
    slow, fast = (one for one in traffic["networks"] if one["name"].startswith(("100 Gb", "8 ×")))
    assert traffic["one_gather_bytes"] == pytest.approx(2 * 671_026_404_352 * 23 / 24, rel=1e-9)
    assert round(slow["gather_seconds"]) == 103 and round(fast["gather_seconds"], 1) == 6.4
    assert traffic["gathers_per_micro_step"] == pytest.approx(2.0, abs=0.1)
    assert slow["communication_seconds_per_step"] == pytest.approx(2 * 103, rel=0.04)
    assert slow["seconds_per_step"] > fast["seconds_per_step"] > 0
    assert "network between nodes" in traffic["limit"]
    assert all(one["source"] for one in traffic["networks"])


def test_two_thousand_steps_are_48_000_of_5_437_649_samples() -> None:
    traffic = seeds_plan().traffic
    assert (traffic["steps"], traffic["samples"]) == (2000, 48_000)
    assert traffic["dataset_share"] == pytest.approx(48_000 / 5_437_649)


def test_loading_reads_1_3_terabytes() -> None:
    loading = seeds_plan().traffic["loading"]
    assert loading["bytes"] == 2 * 671_026_404_352
    assert loading["seconds"]["one NFS server at 1 GB/s"] == pytest.approx(1342, rel=0.01)


def test_hpz_cannot_be_had_on_80_gb() -> None:
    advice = seeds_plan().advice
    hpz = next(row for row in advice["faster"] if "hpZ" in row["name"])
    assert not hpz["feasible"]
    assert float(hpz["reason"].split()[1]) > 156.2  # GiB: the copy alone, 2P over the 8 GPUs of a node
    names = {row["name"]: row["reason"] for row in advice["refused"]}
    assert "refuse it with ZeRO" in names["1-bit Adam"] and "PipelineModule" in names["pipeline parallelism"]


def test_infeasible_changes_stand_last_and_say_why() -> None:
    rows = seeds_plan(4).advice["faster"]
    feasible = [row["feasible"] for row in rows]
    assert feasible == sorted(feasible, reverse=True)
    assert all(row["reason"] for row in rows if not row["feasible"])
    assert seeds_plan(4).advice["best"] == [row for row in rows if row["feasible"]][:3] != []
    rates = [row["tokens_per_second"] for row in rows if row["feasible"]]
    assert rates == sorted(rates, reverse=True)


def test_other_engines_are_named_for_very_large_models_with_experts() -> None:
    assert "Megatron" in seeds_plan().advice["other_roads"][0]["name"]
    assert make_plan(small_run(), LLAMA_8B).advice["other_roads"] == []


def test_switching_the_smoke_tests_settings_off_pays() -> None:
    env = {"NCCL_P2P_DISABLE": "1", "NCCL_SHM_DISABLE": "1", "NCCL_IB_DISABLE": "1"}
    plan = make_plan(small_run({"finetuning_type": "lora"}, env=env), LLAMA_8B)
    rows = plan.advice["faster"]
    off = next(row for row in rows if "smoke" in row["name"])
    assert off["feasible"] and off["seconds_per_step"] < plan.traffic["seconds_per_step"]


# ---- gathers that need their memory twice, versions ----


def test_auto_gathers_large_units_tensor_by_tensor() -> None:
    plan = seeds_plan()
    assert plan.deepspeed["zero_optimization"]["stage3_allgather_sequential"] is True
    assert "0.18.5" in plan.deepspeed_reasons["zero_optimization.stage3_allgather_sequential"]
    version = found(plan, "deepspeed-version")
    assert (version.verdict, version.stops_launch) == (UNKNOWN, True)
    small = make_plan(small_run(), LLAMA_8B)
    assert "stage3_allgather_sequential" not in small.deepspeed["zero_optimization"]


def test_an_older_deepspeed_has_no_such_key_and_needs_the_memory_twice() -> None:
    pins = Container("docker", "image", pip=("transformers==4.52.4", "deepspeed==0.16.9"))
    plan = make_plan(seeds_run(container=pins), V3)
    assert "stage3_allgather_sequential" not in plan.deepspeed["zero_optimization"]
    assert round(gib(plan, "working_set"), 1) == 42.2
    finding = found(plan, "memory-does-not-fit")
    assert plan.memory["verdict"] == DOES_NOT_FIT and finding.verdict == BLOCK
    config = {"zero_optimization": {"stage": 3, "stage3_allgather_sequential": True}}
    own = make_plan(seeds_run(container=pins, deepspeed="/ds.json"), V3, deepspeed=config)
    assert found(own, "deepspeed-version").verdict == BLOCK


def test_reentrant_checkpointing_of_a_frozen_base_is_switched() -> None:
    plan = make_plan(small_run(model=None), LLAMA_8B)
    assert plan.trainer["use_reentrant_gc"] is False
    assert found(plan, "checkpointing-holds-layers").verdict == NOTE
    kept = make_plan(small_run({"use_reentrant_gc": True}, model=None), LLAMA_8B)
    assert "use_reentrant_gc" not in kept.trainer
    assert found(kept, "checkpointing-holds-layers").verdict == WARN
    assert kept.memory["gpu_bytes"]["working_set"] > 13 * GIB > 2 * plan.memory["gpu_bytes"]["working_set"]
    full = make_plan(small_run({"finetuning_type": "full"}), LLAMA_8B)
    assert "use_reentrant_gc" not in full.trainer and found(full, "checkpointing-holds-layers") is None


def on_nodes(count: int, arguments: dict | None = None, model: str = "A100-SXM4-80GB") -> Plan:
    nodes = tuple(Node(f"n{i}", f"10.0.0.{i}", i, 8) for i in range(count))
    return make_plan(small_run(arguments, model=model, cluster=Cluster(nodes)), LLAMA_8B)


def test_reentrant_checkpointing_stays_if_it_fits_and_the_step_waits_for_the_network() -> None:
    kept, spared = on_nodes(4), on_nodes(4, {"use_reentrant_gc": False})
    assert "use_reentrant_gc" not in kept.trainer and found(kept, "checkpointing-holds-layers") is None
    assert kept.memory["verdict"] == FITS and kept.memory["gpu_bytes"]["working_set"] > 13 * GIB
    assert kept.traffic["seconds_per_step"] < 0.8 * spared.traffic["seconds_per_step"]
    asked = on_nodes(4, {"use_reentrant_gc": True})
    assert asked.traffic == kept.traffic and found(asked, "checkpointing-holds-layers") is None

    computes = on_nodes(1)
    assert computes.traffic["limit"] == "compute" and computes.trainer["use_reentrant_gc"] is False
    small = on_nodes(4, model="V100-SXM2-16GB")
    assert small.memory["verdict"] == FITS and small.trainer["use_reentrant_gc"] is False


def test_the_other_kind_fails_on_an_older_deepspeed() -> None:
    pins = Container("docker", "image", pip=("transformers==4.52.4", "deepspeed==0.18.9"))
    plan = make_plan(seeds_run(container=pins, arguments={"use_reentrant_gc": False}), SHORT)
    assert found(plan, "checkpointing-fails-frozen").verdict == BLOCK
    assert found(make_plan(seeds_run(container=pins), SHORT), "checkpointing-fails-frozen") is None


def test_facts_tell_the_versions() -> None:
    facts = {
        f"node-{i}": Facts(f"node-{i}", 0.0, {"software": {"versions": {"deepspeed": "0.16.9"}}})
        for i in range(3)
    }
    own = Environment(python="/opt/env/bin/python")
    plan = make_plan(seeds_run(container=None, environment=own), SHORT, facts)
    assert "stage3_allgather_sequential" not in plan.deepspeed["zero_optimization"]


# ---- host memory ----


def test_transformers_5_joins_experts_on_every_rank() -> None:
    pins = Container("docker", "image", pip=("transformers==5.6.0", "deepspeed==0.19.8"))
    plan = make_plan(seeds_run(container=pins), V3)
    assert plan.memory["host_parts"]["load"] > 9 * 2**40
    assert found(plan, "host-memory-loading").verdict == WARN
    before = seeds_plan()
    assert before.memory["host_parts"]["load"] < 64 * GIB and found(before, "host-memory-loading") is None


def with_memory(total: int, nodes: int = 3) -> dict[str, Facts]:
    values = {"system": {"memory": {"total_bytes": total}}}
    return {f"node-{i}": Facts(f"node-{i}", 0.0, values) for i in range(nodes)}


def test_a_node_that_cannot_hold_the_load_blocks() -> None:
    pins = Container("docker", "image", pip=("transformers==5.6.0", "deepspeed==0.19.8"))
    plan = make_plan(seeds_run(4, container=pins), V3, with_memory(2 * 2**40, 4))
    finding = found(plan, "host-memory-short")
    assert plan.memory["verdict"] == DOES_NOT_FIT and finding.verdict == BLOCK
    assert finding.fix.startswith("environment: {loader: own}")
    own = seeds_run(4, container=pins, environment=Environment(loader="own"))
    own = make_plan(own, V3, with_memory(2 * 2**40, 4))
    assert own.memory["verdict"] == FITS and own.memory["host_parts"]["load"] < 64 * GIB
    fine = make_plan(seeds_run(4), V3, with_memory(2 * 2**40, 4))
    assert fine.memory["verdict"] == FITS and found(fine, "host-memory-short") is None


def test_stock_save_gathers_the_whole_model_on_rank_0_and_ours_what_trains() -> None:
    plan = make_plan(seeds_run(4, deepspeed="zero3"), V3, with_memory(2**40, 4))
    parts = plan.memory["host_parts"]
    assert parts["save_stock"] - parts["train"] == 2 * 671_026_404_352
    assert parts["save"] - parts["train"] == 4 * 97_006_592
    assert plan.memory["host_bytes"] < 2**40 and found(plan, "host-memory-short") is None


def test_what_trains_whole_is_saved_as_transformers_does() -> None:
    facts = {"one": Facts("one", 0.0, {"system": {"memory": {"total_bytes": 32 * GIB}}})}
    run = small_run({"finetuning_type": "full"}, deepspeed="zero3", model="H200")
    plan = make_plan(run, LLAMA_8B, facts)
    assert plan.memory["host_parts"]["save"] == plan.memory["host_parts"]["save_stock"]
    assert plan.memory["host_phase"] == "save" and plan.memory["verdict"] == DOES_NOT_FIT
    assert "gather_16bit_weights_on_model_save" in found(plan, "host-memory-short").fix


def test_offload_moves_the_shard_to_the_host() -> None:
    plan = make_plan(seeds_run(deepspeed="zero3-offload"), V3)
    assert gib(plan, "parameters") == 0
    assert plan.memory["host_parts"]["train"] > 8 * 52 * GIB


# ---- stages, quantization, other machines ----


def stage(number: int) -> dict:
    return {"zero_optimization": {"stage": number}} if number else {}


def test_what_each_stage_splits() -> None:
    full = {"finetuning_type": "full"}
    plans = [
        make_plan(small_run(full, deepspeed="/ds.json", model="H200"), LLAMA_8B, deepspeed=stage(n))
        for n in range(4)
    ]
    count = plans[0].total_parameters
    assert [plan.memory["gpu_bytes"]["parameters"] for plan in plans] == [2 * count] * 3 + [2 * count // 8]
    gradients = [plan.memory["gpu_bytes"]["gradients"] for plan in plans]
    assert gradients[1] == 2 * count and gradients[2] == gradients[3] == 2 * count // 8
    optimizer = [plan.memory["gpu_bytes"]["optimizer"] for plan in plans]
    assert optimizer[0] == 12 * count and optimizer[1] >= 12 * count // 8
    totals = [plan.memory["gpu_bytes"]["total"] for plan in plans]
    assert totals == sorted(totals, reverse=True)


def test_a_quantized_base_is_smaller_and_not_split() -> None:
    plan = make_plan(small_run({"quantization_bit": 4}), LLAMA_8B)
    linear = 32 * (2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14336)
    rest = plan.total_parameters - linear
    assert plan.memory["gpu_bytes"]["parameters"] == int(linear * 4.127 / 8 + 2 * rest)
    assert plan.traffic["gathers_per_micro_step"] == 0


def test_without_checkpointing_activations_grow_with_the_layers() -> None:
    on = make_plan(small_run(), LLAMA_8B)
    off = make_plan(small_run({"disable_gradient_checkpointing": True}), LLAMA_8B)
    assert off.memory["gpu_bytes"]["activations"] > 5 * on.memory["gpu_bytes"]["activations"]


def test_liger_makes_no_logits() -> None:
    long = {"cutoff_len": 16384, "per_device_train_batch_size": 4}
    plain, fused = (
        make_plan(small_run(long), LLAMA_8B),
        make_plan(small_run({**long, "enable_liger_kernel": True}), LLAMA_8B),
    )
    assert plain.memory["gpu_moment"] == "loss" and gib(plain, "logits") == pytest.approx(
        12 * 128256 * 65536 / GIB, rel=0.01
    )
    assert gib(fused, "total") < gib(plain, "total")


def test_an_unknown_gpu_is_not_said_to_fit() -> None:
    plan = make_plan(small_run(model=None), LLAMA_8B)
    assert plan.memory["verdict"] is None
    finding = found(plan, "gpu-memory-unknown")
    assert (finding.verdict, finding.stops_launch) == (UNKNOWN, True)
    strange = make_plan(small_run(model="Foo-9000"), LLAMA_8B)
    assert "Foo-9000" in found(strange, "gpu-memory-unknown").saw


def test_facts_tell_the_gpu() -> None:
    seen = {"gpus": {"list": [{"name": "NVIDIA H200", "memory": {"total_bytes": 143771 * 2**20}}] * 8}}
    plan = make_plan(small_run(model=None), LLAMA_8B, {"one": Facts("one", 0.0, seen)})
    assert plan.memory["verdict"] == FITS
    assert plan.memory["gpu_usable_bytes"] == int(143771 * 2**20 * 0.99)


@pytest.mark.parametrize(
    ("name", "gib_usable"),
    [
        ("A100-SXM4-80GB", 79.15),
        ("NVIDIA A100-SXM4-40GB", 39.39),
        ("NVIDIA H100 80GB HBM3", 79.10),
        ("NVIDIA H200", 139.7),
        ("Tesla V100-SXM2-32GB", 31.73),
        ("NVIDIA GeForce RTX 4090", 23.5),
        ("NVIDIA A10G", 22.0),
        ("NVIDIA RTX 6000 Ada Generation", 47.4),
    ],
)
def test_gpus_are_known_by_the_distinctive_part(name: str, gib_usable: float) -> None:
    gpu = gpu_named(name)
    assert gpu is not None and gpu.memory_bytes == int(gib_usable * GIB)
    assert gpu_named("no such thing") is None and gpu_named(None) is None


def test_a_cpu_run_is_judged_by_its_host() -> None:
    nodes = Cluster((Node("a", "127.0.0.1", 0, 2), Node("b", "127.0.0.1", 1, 2)))
    run = small_run({"use_cpu": True}, cluster=nodes, same_host=True)
    blind = make_plan(run, LLAMA_8B)
    assert blind.memory["verdict"] is None and blind.traffic["seconds_per_step"] is None
    facts = {name: Facts(name, 0.0, {"system": {"memory": {"total_bytes": 8 * GIB}}}) for name in "ab"}
    plan = make_plan(run, LLAMA_8B, facts)
    assert plan.memory["verdict"] == DOES_NOT_FIT and found(plan, "host-memory-short").verdict == BLOCK
    assert plan.memory["gpu_bytes"]["runtime"] == 0


def test_a_small_model_fits_and_nothing_is_said() -> None:
    plan = make_plan(small_run({"finetuning_type": "full", "cutoff_len": 1024}), LLAMA_8B)
    assert plan.memory["verdict"] == FITS and not plan.findings
    assert plan.advice["fits"] == []


def test_what_does_not_fit_gets_the_nearest_setting_that_does() -> None:
    arguments = {"per_device_train_batch_size": 16, "cutoff_len": 8192, "flash_attn": "sdpa"}
    run = small_run(arguments, model="A100-SXM4-40GB")
    plan = make_plan(run, LLAMA_8B)
    assert found(plan, "memory-does-not-fit") is not None
    first = plan.advice["fits"][0]["setting"]
    changed = {line.split(": ")[0]: yaml_value(line.split(": ")[1]) for line in first.splitlines()}
    again = make_plan(small_run({**arguments, **changed}, model="A100-SXM4-40GB"), LLAMA_8B)
    assert again.memory["verdict"] == FITS, first


def yaml_value(text: str):
    return {"true": True, "false": False}.get(text) if text in ("true", "false") else int(text)


def test_more_of_anything_never_needs_less() -> None:
    """What a false `fits` would come from."""
    base = make_plan(small_run(), LLAMA_8B).memory["gpu_bytes"]["total"]
    for bigger in (
        {"per_device_train_batch_size": 2},
        {"cutoff_len": 4096},
        {"disable_gradient_checkpointing": True},
        {"lora_rank": 256},
        {"finetuning_type": "full"},
        {"lora_target": "all"},
        {"use_reentrant_gc": True},
    ):
        assert make_plan(small_run(bigger), LLAMA_8B).memory["gpu_bytes"]["total"] >= base, bigger
    assert make_plan(small_run(gpus=4), LLAMA_8B).memory["gpu_bytes"]["total"] >= base


def test_facts_tell_the_network() -> None:
    ports = {f"mlx5_{i}": {"ports": {"1": {"state": "ACTIVE", "rate_gbits": 200.0}}} for i in range(4)}
    facts = {f"node-{i}": Facts(f"node-{i}", 0.0, {"infiniband": {"devices": ports}}) for i in range(3)}
    network = make_plan(seeds_run(), SHORT, facts).traffic["networks"][0]
    assert network["bytes_per_second"] == 4 * 200e9 / 8 and not network["assumed"]
    tcp = make_plan(seeds_run(env={"NCCL_IB_DISABLE": "1"}), SHORT, facts).traffic["networks"][0]
    assert tcp["assumed"]


# ---- the pages ----


def test_every_finding_of_planning_has_its_page() -> None:
    source = "".join(path.read_text() for path in (ROOT / "src/allranks/plan").glob("*.py"))
    named = {part.split('"')[0] for part in source.split('id="')[1:]}
    named |= {"memory-too-close", "memory-does-not-fit"}
    assert named <= set(ids())
    for name in ids():
        assert page(name).id == name and page(name).sections["What to do"]


def test_the_same_input_gives_the_same_document() -> None:
    plans = seeds_plan(), make_plan(seeds_run(), V3, dataset_samples=5_437_649)
    first, second = (json.dumps(plan.as_json(), sort_keys=True) for plan in plans)
    assert first == second


def test_a_case_can_be_changed_without_touching_the_first() -> None:
    from allranks.plan.memory import memory_of

    plan = seeds_plan()
    case = case_of(
        plan.run, plan.setting, plan.model, plan.trained, plan.deepspeed, _versions(plan), None, None
    )
    more = dataclasses.replace(case, nodes=(8,) * 8)
    assert memory_of(more).total < memory_of(case).total == plan.memory["gpu_bytes"]["total"]
    assert case.nodes == (8, 8, 8)


def _versions(plan):
    from allranks.plan.versions import versions_of

    return versions_of(plan.run)
