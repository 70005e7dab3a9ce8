"""Memory, traffic and advice of a planned run, and the findings that come of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from allranks.core import BLOCK, NOTE, UNKNOWN, WARN, Facts, Finding
from allranks.core.net import is_loopback
from allranks.plan import experts
from allranks.plan.advice import faster
from allranks.plan.gather import NON_REENTRANT
from allranks.plan.hardware import hardware_of
from allranks.plan.host import joins_experts
from allranks.plan.lora import Trained
from allranks.plan.memory import (
    DOES_NOT_FIT,
    FITS,
    FITS_BELOW,
    HOPELESS_ABOVE,
    HOST_TAKEN_FOR_GRANTED,
    TOO_CLOSE,
    Memory,
    memory_of,
)
from allranks.plan.model import Model
from allranks.plan.planning_input import UNCOUNTED_VISION, Case
from allranks.plan.setting import Setting
from allranks.plan.smaller_settings import Change, nearest_that_fits, one_line, settled
from allranks.plan.traffic import traffic_json, traffic_of
from allranks.plan.unknown_model import verdict_unread, whose
from allranks.plan.unsupported_advice import binding, other_roads, refused
from allranks.plan.versions import HOLDS_RECOMPUTED, SEQUENTIAL_GATHERS, Versions, dotted
from allranks.plan.zero import zero_of
from allranks.spec import Run

GIB = 2**30


@dataclass(frozen=True)
class Budget:
    """`memory`, `traffic` and `advice` as in the plan's JSON; `trainer` are arguments to change."""

    memory: Mapping[str, Any]
    traffic: Mapping[str, Any]
    advice: Mapping[str, Any]
    trainer: Mapping[str, Any]
    findings: tuple[Finding, ...]


def case_of(
    run: Run,
    setting: Setting,
    model: Model,
    trained: Trained,
    config: Mapping[str, Any] | None,
    versions: Versions,
    facts: Mapping[str, Facts] | None,
    samples: int | None = None,
    price: float | None = None,
) -> Case:
    return Case(
        model=model,
        trained=trained,
        setting=setting,
        zero=zero_of(config, model.hidden),
        nodes=tuple(node.gpus for node in run.cluster.nodes),
        hardware=hardware_of(run, setting.uses_gpu, facts),
        versions=versions,
        smoke_test=run.env.get("NCCL_P2P_DISABLE") == "1" and run.env.get("NCCL_SHM_DISABLE") == "1",
        tcp_only=run.env.get("NCCL_IB_DISABLE") == "1",
        samples=samples,
        one_machine=all(is_loopback(node.address) for node in run.cluster.nodes),
        price=price,
        deepspeed=run.deepspeed,
        node_names=tuple(node.name for node in run.cluster.nodes),
        asked=bool(facts),
    )


def budget_of(run: Run, case: Case) -> Budget:
    """Everything that the case costs, `settled`."""
    trainer: dict[str, Any] = {}
    findings: list[Finding] = []
    asked, case = case, settled(case)
    if case is not asked:
        trainer["use_reentrant_gc"] = False
        if case.base_bytes >= GIB:
            findings.append(_switched(run, case))
    memory = memory_of(case)
    fitting = nearest_that_fits(case) if memory.verdict in (TOO_CLOSE, DOES_NOT_FIT) else []
    findings += _memory_findings(run, case, memory, fitting)
    findings += _stage_findings(run, case) + _vision_findings(run, case, memory) + experts.findings(run, case)
    findings += _version_findings(run, case, memory) + _unseen_host(run, case, memory)
    quicker = [result.as_json() for result in faster(case)] if _timed(case) else []
    advice = {
        "best": [row for row in quicker if row["feasible"]][:3],
        "fits": [{"name": c.name, "setting": c.paste, "cost": c.cost} for c in fitting],
        "faster": quicker,
        "refused": refused(case) if case.sharded else [],
        "experts": experts.ways(case),
        "other_roads": other_roads(case),
        "binding": binding(case),
    }
    return Budget(memory.as_json(), traffic_json(case, traffic_of(case)), advice, trainer, tuple(findings))


def _timed(case: Case) -> bool:
    return case.setting.uses_gpu and case.hardware.gpu is not None


def _memory_findings(run: Run, case: Case, memory: Memory, fitting: list[Change]) -> list[Finding]:
    if memory.on_gpu and memory.usable is None:
        return [_unknown_gpu(run, case, memory)]
    if memory.verdict in (FITS, None):
        return []
    found: list[Finding] = []
    host_short = memory.host_usable is not None and memory.host_total > FITS_BELOW * memory.host_usable
    if memory.on_gpu and memory.usable is not None and memory.least > FITS_BELOW * memory.usable:
        found.append(_short(run, case, memory, fitting))
    if host_short:
        found.append(_host_short(run, case, memory, fitting))
    return found


def _short(run: Run, case: Case, memory: Memory, fitting: list[Change]) -> Finding:
    usable, total = memory.usable or 0, memory.least
    never = total > HOPELESS_ABOVE * usable
    gpu = case.hardware.gpu_name or "a GPU"
    parts = ", ".join(
        f"{name.replace('_', ' ')} {size / GIB:.1f}"
        for name, size in sorted(memory.parts.items(), key=lambda item: -item[1])
        if size > 0.05 * GIB
    )
    state = "does not fit" if never else "is too close"
    return Finding(
        id="memory-does-not-fit" if never else "memory-too-close",
        verdict=BLOCK if never else WARN,
        where=run.where("gpus"),
        saw=f"{total / GIB:.1f} GiB per GPU at the {memory.moment} {state}: {gpu} has {usable / GIB:.1f} GiB to use.",
        expected=f"at most {FITS_BELOW * usable / GIB:.1f} GiB (92 %)",
        why=f"GiB by part: {parts}." + ("" if never else " The estimate is off by up to 5 %."),
        fix=" · or ".join(one_line(change.paste) for change in fitting)
        or "a larger GPU: no setting makes it fit",
        evidence=tuple(f"{change.name}: {change.cost}" for change in fitting if change.cost),
    )


def _host_short(run: Run, case: Case, memory: Memory, fitting: list[Change]) -> Finding:
    usable = memory.host_usable or 0
    never = memory.host_total > HOPELESS_ABOVE * usable
    phase = memory.host_phase
    return Finding(
        id="host-memory-short",
        verdict=BLOCK if never else WARN,
        where=run.where("nodes"),
        saw=f"a node needs {memory.host_total / GIB:,.1f} GiB of host memory to {phase}, "
        f"the smallest has {usable / GIB:,.1f} GiB.",
        expected=f"at most {FITS_BELOW * usable / GIB:,.1f} GiB (92 %)",
        why="the OOM killer would end one rank, and the others would hang waiting for it.",
        fix=_host_fix(run, case, phase, fitting),
    )


def _host_fix(run: Run, case: Case, phase: str, fitting: list[Change]) -> str:
    if phase == "load" and joins_experts(case):
        return OWN_LOADER
    if phase == "save" and case.sharded and case.zero.gather_on_save:
        return (
            '"zero_optimization": {"stage3_gather_16bit_weights_on_model_save": false}, then zero_to_fp32.py'
        )
    if fitting:
        return one_line(fitting[0].paste)
    return "fewer ranks per node, or more nodes"


OWN_LOADER = (
    "environment: {loader: own}, with which each rank reads only its own bytes, or transformers==4.52.4, which loads "
    "file by file"
)


def _unknown_gpu(run: Run, case: Case, memory: Memory) -> Finding:
    name = case.hardware.gpu_name
    named = f"gpus.model {name!r} is not in the table" if name else "there is no gpus.model"
    nobody = "no node said how much memory its GPUs have" if case.asked else "no node was asked"
    return Finding(
        id="gpu-memory-unknown",
        verdict=UNKNOWN,
        where=run.where("gpus"),
        saw=f"{named}, and {nobody}.",
        expected="the GPU's model",
        why=f"the run needs {memory.total / GIB:.1f} GiB per GPU; whether that fits is not known.",
        fix=f"gpus: {{count: {max(node.gpus for node in run.cluster.training)}, model: A100-SXM4-80GB}}",
    )


def _switched(run: Run, case: Case) -> Finding:
    held = case.model.total_parameters * case.setting.weight_bytes / GIB
    return Finding(
        id="checkpointing-holds-layers",
        verdict=NOTE,
        where=run.where("train.llamafactory.use_reentrant_gc"),
        saw="LLaMA-Factory's default is reentrant gradient checkpointing; use_reentrant_gc: false is used instead.",
        expected="use_reentrant_gc: false",
        why=f"DeepSpeed {dotted(HOLDS_RECOMPUTED)} and later keep every layer of a frozen base whole until the "
        f"backward's end under it: {held:,.1f} GiB on every rank.",
        fix="use_reentrant_gc: false",
    )


def _version_findings(run: Run, case: Case, memory: Memory) -> list[Finding]:
    found: list[Finding] = []
    version = case.versions.deepspeed
    if case.sharded and case.zero.sequential and (version is None or version < SEQUENTIAL_GATHERS):
        found.append(_needs_deepspeed(run, version, case.asked))
    if case.holds_every_layer and memory.verdict != FITS:
        found.append(dataclasses.replace(_switched(run, case), verdict=WARN, saw=_CHOSEN))
    fails = case.sharded and case.has_frozen and case.checkpointing == NON_REENTRANT
    if fails and version is not None and version < HOLDS_RECOMPUTED:
        found.append(
            Finding(
                id="checkpointing-fails-frozen",
                verdict=BLOCK,
                where=run.where("train.llamafactory.use_reentrant_gc"),
                saw=f"use_reentrant_gc: false with DeepSpeed {dotted(version)} and a frozen base.",
                expected=f"DeepSpeed {dotted(HOLDS_RECOMPUTED)} or later, or reentrant checkpointing",
                why="the first backward raises CheckpointError: recomputed weights have shape [0] "
                "(huggingface/transformers#47254).",
                fix="use_reentrant_gc: true",
            )
        )
    return found


_CHOSEN = "use_reentrant_gc: true was asked for, with a frozen base under ZeRO-3."


def _needs_deepspeed(run: Run, version: tuple[int, ...] | None, asked: bool) -> Finding:
    known = version is not None
    return Finding(
        id="deepspeed-version",
        verdict=BLOCK if known else verdict_unread(run, asked),
        where=run.where("container" if run.container else "deepspeed"),
        saw=f"stage3_allgather_sequential is set, and DeepSpeed is {dotted(version)}."
        if version
        else f"stage3_allgather_sequential is set, and nobody has read which DeepSpeed {whose(run)} has.",
        expected=f"DeepSpeed {dotted(SEQUENTIAL_GATHERS)} or later",
        why="an older one refuses the key at its start.",
        fix='"deepspeed==0.18.9" in container.pip' if run.container else "deepspeed>=0.18.5",
    )


def _stage_findings(run: Run, case: Case) -> list[Finding]:
    if not case.setting.uncounted:
        return []
    return [
        Finding(
            id="stage-not-planned",
            verdict=UNKNOWN,
            where=run.where("train.llamafactory.stage"),
            saw=f"stage: {case.setting.stage} keeps {case.setting.uncounted} beside the model, which is not counted.",
            expected="pt, sft, rm, or dpo and kto with LoRA",
            why="the run needs more than the printed figures; whether it fits cannot be said.",
            fix=f"allranks run --smoke --accept stage-not-planned {run.named}",
        )
    ]


def _vision_findings(run: Run, case: Case, memory: Memory) -> list[Finding]:
    if case.uncounted == UNCOUNTED_VISION:
        return [_uncounted_images(run, case)]
    return [_many_images(run, case, memory)] if memory.depends else []


def _many_images(run: Run, case: Case, memory: Memory) -> Finding:
    usable, most = memory.usable or 0, memory.parts["vision"]
    return Finding(
        id="vision-memory-unknown",
        verdict=UNKNOWN,
        where=run.where("train.llamafactory.cutoff_len"),
        saw=f"{memory.least / GIB:.1f} GiB per GPU without images, {memory.total / GIB:.1f} GiB if images fill all "
        f"{case.setting.cutoff:,} tokens of a sample; {case.hardware.gpu_name} has {usable / GIB:.1f} GiB to use.",
        expected=f"at most {FITS_BELOW * usable / GIB:.1f} GiB (92 %)",
        why=f"the vision tower keeps up to {most / GIB:.1f} GiB; how many images a sample has is not known.",
        fix="a smaller cutoff_len or per_device_train_batch_size, or take a few real steps: "
        f"allranks run --smoke --accept vision-memory-unknown {run.named}",
    )


def _uncounted_images(run: Run, case: Case) -> Finding:
    return Finding(
        id="vision-memory-unknown",
        verdict=UNKNOWN,
        where=run.where("train.llamafactory.model_name_or_path"),
        saw=f"{case.model.family} reads images; the activations of its vision tower are not counted.",
        expected="a language model, or a tower whose memory is known",
        why="the run needs more than the printed figures; whether it fits cannot be said.",
        fix=f"allranks run --smoke --accept vision-memory-unknown {run.named}",
    )


def _unseen_host(run: Run, case: Case, memory: Memory) -> list[Finding]:
    """Said if nobody knows the nodes' memory and the need is beyond what a node usually has."""
    if not memory.host_in_doubt:
        return []
    phase = memory.host_phase
    expected = f"less than {HOST_TAKEN_FOR_GRANTED / GIB:,.0f} GiB, or a look at the nodes"
    if phase == "load" and joins_experts(case):
        copies = case.model.expert_parameters * case.setting.weight_bytes / GIB
        return [
            Finding(
                id="host-memory-loading",
                verdict=WARN,
                where=run.where("train.llamafactory.model_name_or_path"),
                saw=f"loading needs {memory.host_total / GIB:,.0f} GiB of host memory on a node.",
                expected=expected,
                why="transformers 5 has every rank join all experts in its own memory before it loads them: "
                f"{max(case.nodes)} ranks of {copies:,.0f} GiB.",
                fix=OWN_LOADER,
            )
        ]
    return [
        Finding(
            id="host-memory-unknown",
            verdict=UNKNOWN,
            where=run.where("nodes"),
            saw=f"a node needs {memory.host_total / GIB:,.0f} GiB of host memory to {phase}; none was asked.",
            expected=expected,
            why="whether the run fits cannot be said: many GPU nodes have 1 TiB.",
            fix=f"allranks check {run.named}",
        )
    ]
