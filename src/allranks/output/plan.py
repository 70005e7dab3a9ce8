"""Prints the plan: the trained parts, the memory, the time and cost, and better choices."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from allranks.core import Finding
from allranks.core.text import plural
from allranks.output.console import Out
from allranks.output.report_text import count, seconds, share, size
from allranks.output.terminal import print_findings
from allranks.plan import Plan
from allranks.plan.smaller_settings import one_line
from allranks.spec import Run

SHOWN = 0.005
"""A part of less than half a percent of the whole is left out: it is not important."""

Line = tuple[str, str]
"""A name and its text. A line without a name continues the line above."""


def print_plan(
    run: Run, plan: Plan, findings: Sequence[Finding], explain: bool = False, out: Out | None = None
) -> None:
    """Prints findings first, since they may stop the run, then the numbers. With `explain` it also prints each value
    and its reason."""
    out = out or Out()
    print_findings(list(findings), out=out)
    if findings:
        out.line("")
    for name, text in lines(run, plan):
        out.line((f"{name:<11}", "dim"), text)
    if explain:
        for title, rows in explained(plan):
            out.line("")
            out.line((title, "bold"))
            for row in rows:
                out.line(f"  {row}")
    else:
        out.line((f"{'':<11}plan --explain gives the reason of each value, --json everything.", "dim"))


def lines(run: Run, plan: Plan) -> Iterator[Line]:
    """The lines of the plan. Unknown parts are named, not left out."""
    yield (
        "run",
        f"{run.name}: {plural(len(run.cluster.nodes), 'node')}, {plural(plan.world_size, 'rank')}{_zero(plan)}",
    )
    yield from _model(plan)
    memory, traffic = plan.memory, plan.traffic
    if memory:
        yield from _memory(memory)
        yield from _host(memory)
    if traffic and plan.world_size > 1:
        yield from _traffic(traffic)
    if traffic:
        yield from _time(traffic)
        yield from _start(traffic)
    yield from _experts(plan.advice)
    yield from _better(plan.advice)
    yield from _ranks(plan)


def _zero(plan: Plan) -> str:
    section = (plan.deepspeed or {}).get("zero_optimization")
    stage = section.get("stage", 0) if isinstance(section, Mapping) else None
    return "" if plan.deepspeed is None else f", ZeRO-{stage}" if stage else ", DeepSpeed without ZeRO"


def _model(plan: Plan) -> Iterator[Line]:
    model = plan.model
    if model is None:
        yield "model", "not known: no parameters, memory, traffic"
        return
    active = f", {count(model.active_parameters)} active per token" if model.experts else ""
    yield "model", f"{model.family}: {count(model.total_parameters)} parameters{active}"
    least, most = min(model.parameters_per_layer, default=0), max(model.parameters_per_layer, default=0)
    each = f"of {count(most)}" if least == most else f"of {count(least)} to {count(most)}"
    name, unit = model.gathered_unit(plan.setting.experts_at_once)
    yield "", f"{plural(model.layers, 'layer')} {each}; largest gathered unit {name}, {count(unit)}"
    if model.sees:
        yield "", f"{count(model.vision_parameters)} of all in the vision tower and the projector"
    if plan.trainable_parameters is not None:
        part = plan.trainable_parameters / model.total_parameters if model.total_parameters else 0
        lora = plan.setting.lora
        what = f", LoRA of rank {lora.rank}" if lora else ""
        yield "trains", f"{count(plan.trainable_parameters)} parameters ({_percent(part)}){what}"


def _percent(part: float) -> str:
    return share(part) if part >= 0.001 else f"{100 * part:.2g} %"


def _memory(memory: Mapping[str, Any]) -> Iterator[Line]:
    parts = dict(memory["gpu_bytes"])
    total, usable = parts.pop("total"), memory["gpu_usable_bytes"]
    place = "per GPU" if memory["gpu_usable_bytes"] or parts.get("runtime") else "per rank"
    verdict = _fit(memory["verdict"])
    of = f" of {size(usable)}, {_margin(usable - total)}" if usable else ""
    yield "memory", f"{verdict}: {size(total)} {place}{of}; fullest at: {memory['gpu_moment']}"
    large = [(name, value) for name, value in parts.items() if value >= SHOWN * total]
    large.sort(key=lambda row: -row[1])
    yield "", ", ".join(f"{name.replace('_', ' ')} {size(value)}" for name, value in large)


def _margin(left: int) -> str:
    return f"{size(left)} left" if left >= 0 else f"{size(-left)} too much"


def _host(memory: Mapping[str, Any]) -> Iterator[Line]:
    parts, usable = memory["host_parts"], memory["host_usable_bytes"]
    of = f" (there are {size(usable)})" if usable else ""
    yield (
        "host",
        f"a node needs {size(parts['load'])} to load, {size(parts['train'])} to train, "
        f"{size(parts['save'])} to save{of}",
    )
    if parts["save_stock"] > 1.1 * parts["save"]:
        yield "", f"the trainer's own save would need {size(parts['save_stock'])} on the head"


def _traffic(traffic: Mapping[str, Any]) -> Iterator[Line]:
    out = traffic["node_out_bytes_per_step"]
    leaving = f", {_bytes(out)} out of a node" if out else ""
    sizes = traffic["by_collective"].items()
    kinds = ", ".join(f"{name.replace('_', '-')} {_bytes(value)}" for name, value in sizes)
    yield "traffic", f"{_bytes(traffic['received_bytes_per_step'])} into a rank per step{leaving} ({kinds})"


def _bytes(value: float) -> str:
    """Decimal units, as for networks."""
    for unit in ("B", "kB", "MB", "GB"):
        if value < 999.5:
            return f"{value:.3g} {unit}"
        value /= 1000
    return f"{value:.3g} TB"


def _time(traffic: Mapping[str, Any]) -> Iterator[Line]:
    for place, one in enumerate(traffic["networks"]):
        if one["seconds_per_step"] is None or traffic["seconds_per_step"] is None:
            break
        if place and not traffic["node_out_bytes_per_step"]:
            break
        assumed = " (assumed)" if one["assumed"] else ""
        rate = f"{one['tokens_per_second']:,.0f} tokens/s" if one["tokens_per_second"] else ""
        name = f"on {one['name']}{assumed}" if traffic["node_out_bytes_per_step"] else "on one node"
        yield (
            "step" if not place else "",
            f"{seconds(one['seconds_per_step'])} {name}, {rate}; limit: {one['limit']}",
        )
    if traffic["steps"]:
        yield "whole run", _whole(traffic)


def _whole(traffic: Mapping[str, Any]) -> str:
    text = f"{count(traffic['steps'])} steps, {count(traffic['samples'])} samples"
    if traffic["dataset_share"] is not None:
        text += f" ({_percent(traffic['dataset_share'])} of {count(traffic['dataset_samples'])})"
    if traffic["seconds"] is not None:
        text += f", {seconds(traffic['seconds'])}, {traffic['gpu_hours']:,.0f} GPU hours"
    if traffic["cost"] is not None:
        text += f", {traffic['cost']:,.0f} at {traffic['price_per_gpu_hour']:g} per GPU hour"
    return text


def _start(traffic: Mapping[str, Any]) -> Iterator[Line]:
    first, read = traffic["first_step"], traffic["loading"]
    if traffic["seconds_per_step"] is None:
        return
    times = ", ".join(f"{seconds(value)} from {name}" for name, value in first["seconds"].items())
    each = f", {_bytes(read['node_bytes'])} per node" if read["node_bytes"] < read["bytes"] else ""
    yield (
        "first step",
        f"after {times}; {_bytes(read['bytes'])} of weights{each} (assumed speeds; tokenizing comes on top)",
    )


def _better(advice: Mapping[str, Any]) -> Iterator[Line]:
    for place, row in enumerate(advice.get("fits") or ()):
        yield "fits with" if not place else "", f"{row['name']}: {_pasted(row)}"
    for place, row in enumerate(advice.get("best") or ()):
        yield "faster" if not place else "", f"{_figures(row)}: {_pasted(row)}"
    far = [row for row in advice.get("other_roads") or () if "times_faster" in row]
    for place, row in enumerate(far):
        best = f"at best {seconds(row['seconds_per_step'])} per step, {row['times_faster']:.0f} times faster"
        yield "elsewhere" if not place else "", f"{row['name']}: {best}; plan --explain says what it takes"
    for place, row in enumerate(row for row in advice.get("faster") or () if not row["feasible"]):
        yield "not faster" if not place else "", f"{row['name']}: {row['reason']}"


def _experts(advice: Mapping[str, Any]) -> Iterator[Line]:
    """The ways of gathering experts: the planned one, the recommended one and the leaf."""
    rows = advice.get("experts") or ()
    shown = [row for row in rows if row["planned"] or row["recommended"] or not row["at_once"]]
    for place, row in enumerate(sorted(shown, key=lambda row: not row["planned"])):
        together = f"{row['way']}, {row['at_once']} at a time" if row["at_once"] else "a layer's at once"
        step = f", {seconds(row['seconds_per_step'])} per step" if row["seconds_per_step"] else ""
        marks = [word for word in ("planned", "recommended") if row[word] and len(rows) > 1]
        fit = _fit(row["memory_verdict"])
        yield (
            "experts" if not place else "",
            f"{together}: working set {size(row['working_set_bytes'])}, {size(row['gpu_bytes'])} per GPU ({fit}){step}"
            + (f"; {', '.join(marks)}" if marks else ""),
        )
        if row["reason"]:
            yield "", row["reason"]


def _fit(verdict: str | None) -> str:
    """The verdict in words: `fits`, `too close`, `does not fit`."""
    return verdict.replace("-", " ") if verdict else "whether it fits is not known"


def _pasted(row: Mapping[str, str]) -> str:
    return one_line(row["setting"]) + (f"   ({row['cost']})" if row["cost"] else "")


def _figures(row: Mapping[str, Any]) -> str:
    fits = "" if row["memory_verdict"] == "fits" else f", memory {_fit(row['memory_verdict'])}"
    return f"{row['name']}, {row['tokens_per_second']:,.0f} tokens/s, {seconds(row['seconds_per_step'])} per step{fits}"


def _ranks(plan: Plan) -> Iterator[Line]:
    """One line per node: its ranks and their GPUs."""
    by_node: dict[str, list[Mapping[str, Any]]] = {}
    for row in plan.ranks:
        by_node.setdefault(row["node"], []).append(row)
    for place, (node, rows) in enumerate(by_node.items()):
        if place == 12:
            yield "", f"… and {len(by_node) - 12} nodes more"
            return
        first, last = rows[0]["rank"], rows[-1]["rank"]
        ranks = f"rank {first}" if first == last else f"ranks {first} to {last}"
        address = "" if rows[0]["address"] == node else f" ({rows[0]['address']})"
        yield "ranks" if not place else "", f"{node}{address}: {ranks}"


def explained(plan: Plan) -> Iterator[tuple[str, list[str]]]:
    """Each value of the plan with its reason; refused values with their reasons; and the source of the speeds."""
    config = plan.deepspeed
    if config is not None:
        reasons = plan.deepspeed_reasons.items()
        yield "DeepSpeed", [f"{key} = {json.dumps(_at(config, key))}   {why}" for key, why in reasons]
    if plan.trainer:
        yield (
            "changed in the training arguments",
            [f"{key}: {json.dumps(v)}" for key, v in plan.trainer.items()],
        )
    environment = [f"{name}={value}" for name, value in plan.environment["all"].items()]
    for node, own in plan.environment["nodes"].items():
        environment += [f"{name}={value}   on {node}" for name, value in own.items()]
    yield "environment of the ranks", environment
    if plan.traffic:
        yield "speeds", [_speed(one) for one in plan.traffic["networks"]]
    advice = plan.advice
    if advice.get("refused"):
        yield "of no use here", [f"{row['name']}: {row['reason']}" for row in advice["refused"]]
    if advice.get("other_roads"):
        yield "other engines", [f"{row['name']}: {row['why']}" for row in advice["other_roads"]]
    if advice.get("binding"):
        yield "binding", [advice["binding"]]


def _speed(network: Mapping[str, Any]) -> str:
    assumed = " (assumed)" if network["assumed"] else ""
    return f"{network['name']}: {_bytes(network['bytes_per_second'])}/s; {network['source']}{assumed}"


def _at(config: Mapping[str, Any], key: str) -> Any:
    value: Any = config
    for part in key.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value
