"""The nearest setting that fits: each candidate is the case planned again with what the printed lines change.

A candidate's `paste` is what to write: lines for the run file (keys of LLaMA-Factory go under
`train.llamafactory`), or for the user's own DeepSpeed JSON. Tests paste them and plan again.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from allranks.plan import families
from allranks.plan.deepspeed import deepspeed_config, is_profile
from allranks.plan.memory import FITS, memory_of
from allranks.plan.planning_input import Case
from allranks.plan.traffic import step_time, traffic_of
from allranks.plan.versions import SEQUENTIAL_GATHERS
from allranks.plan.zero import Zero, zero_of

GIB = 2**30
MOST_NODES = 128
GAIN = 1.02
"""The factor in speed from which on a change counts as a gain."""

USUAL_AT_ONCE = 8
"""Experts at a time if the run file does not give a number (`train.experts_at_once`)."""


@dataclass(frozen=True)
class Change:
    """A change of the run file. `paste` is the text to write, `case` the changed case. `cost` is a text that names the
    disadvantage."""

    name: str
    paste: str
    case: Case
    cost: str = ""


def one_line(paste: str) -> str:
    """The text to write, on one line of a terminal."""
    return " and ".join(_placed(line) for line in paste.splitlines())


def _placed(line: str) -> str:
    if line.startswith("- "):
        return f"under nodes: {line}"
    return f"under train: {line}" if line.startswith("experts") else line


def changed(case: Case, **changes: Any) -> Case:
    """The case with its setting or its ZeRO changed."""
    zero = {key: value for key, value in changes.items() if hasattr(case.zero, key)}
    setting = {key: value for key, value in changes.items() if hasattr(case.setting, key)}
    rest = {key: value for key, value in changes.items() if key not in zero and key not in setting}
    return dataclasses.replace(
        case,
        zero=dataclasses.replace(case.zero, **zero),
        setting=dataclasses.replace(case.setting, **setting),
        **rest,
    )


def on_nodes(case: Case, nodes: tuple[int, ...]) -> Case:
    return dataclasses.replace(case, nodes=nodes, padded_to=case.padded_to or case.ranks)


def with_profile(case: Case, profile: str) -> Case:
    """The case under one of allranks' profiles, with exactly the JSON that `deepspeed: PROFILE` will write, `settled`.
    `none` is plain data parallel."""
    if profile == "none":
        return dataclasses.replace(case, zero=Zero(), deepspeed=profile)
    # A base that is stored quantized cannot be anything else; LLaMA-Factory refuses it under ZeRO-3.
    bits = case.setting.quantization_bits if case.setting.stored_bits else None
    setting = dataclasses.replace(case.setting, quantization_bits=bits)
    between = setting.uses_gpu and len(case.nodes) > 1
    network = case.hardware.network.bytes_per_second if between else None
    json, _ = deepspeed_config(profile, setting, case.model, case.trained, case.versions, network=network)
    made = dataclasses.replace(
        case, setting=setting, zero=zero_of(json, case.model.hidden), deepspeed=profile
    )
    return settled(made)


def settled(case: Case) -> Case:
    """The case as it will be run. If reentrant checkpointing would hold every layer, it is switched off, unless the
    user chose it, or it surely fits and shortens the step: with it a layer is gathered twice in a step, else three
    times. Experts in lockstep are there to save memory, so then it is never left on."""
    if case.setting.reentrant_asked or not case.holds_every_layer:
        return case
    spared = changed(case, reentrant=False)
    fits = not case.at_once and memory_of(case).verdict == FITS
    return case if fits and _step_seconds(spared) > GAIN * _step_seconds(case) else spared


def _step_seconds(case: Case) -> float:
    return step_time(case, traffic_of(case), case.hardware.network).total


def in_lockstep(case: Case, at_once: int) -> Case:
    """The case with this number of experts at a time (0: one leaf), under the JSON that its profile then writes."""
    made = changed(case, experts_at_once=at_once)
    return settled(with_profile(made, case.deepspeed) if is_profile(case.deepspeed) else made)


def lockstep(case: Case) -> Change | None:
    """Gathers experts a few at a time. Under gradient checkpointing they are gathered a third time."""
    if case.whole_experts or case.at_once:
        return None
    made = in_lockstep(case, USUAL_AT_ONCE)
    more = made.gathered.received / case.gathered.received if case.gathered.received else 1.0
    cost = f"{more:.2g} times the traffic between ranks" if more > 1.02 else ""
    way = "slices" if case.model.fused_experts else "lockstep"
    return Change(f"experts in {way}", "experts: lockstep", made, cost)


def json_paste(case: Case, key: str, value: str) -> str:
    """The text that sets a key of `zero_optimization`: a line for the user's own JSON. Under a profile the user must
    first save the planned JSON as a file."""
    if is_profile(case.deepspeed):
        return f'deepspeed: ds.json   # the planned JSON (plan --explain) with "{key}": {value} in zero_optimization'
    return f'"zero_optimization": {{"{key}": {value}}}'


def nearest_that_fits(case: Case) -> list[Change]:
    """Changes that make the run fit; each is enough alone. They are: the first combination of smaller settings that is
    enough (one setting if possible, the least harmful first), a quantized base, offload, more nodes. If smaller
    settings, a quantized base and offload alone do not help, two changes together come first. Empty if nothing
    helps."""
    found: list[Change] = []
    for change in _combined(case):
        if enough(case, change.case):
            found.append(_said(change))
            break
    for change in (quantized(case), offloaded(case)):
        if change is not None and enough(case, change.case):
            found.append(_said(change))
    settled = bool(found)
    plain = _more_nodes(case)
    if plain is not None:
        found.append(_said(plain))
    return found if settled else [*_both(case, plain), *found]


def enough(case: Case, other: Case) -> bool:
    """Whether the other case fits. If it is unknown for both cases whether host memory is enough, the GPUs of the other
    case must fit and its hosts must not need more than before. `_said` then adds that condition to the change."""
    memory, own = memory_of(other), memory_of(case)
    if memory.verdict is None and memory.host_in_doubt and own.host_in_doubt and not memory.uncounted:
        return memory.gpu_fits and memory.host_total <= own.host_total
    return memory.verdict == FITS


def _said(change: Change) -> Change:
    memory = memory_of(change.case)
    if not memory.host_in_doubt:
        return change
    doubt = f"if a node has {memory.host_total / GIB:,.0f} GiB of host memory"
    return dataclasses.replace(change, cost=f"{change.cost}; {doubt}" if change.cost else doubt)


def _both(case: Case, plain: Change | None) -> list[Change]:
    """Smaller settings that are not enough alone, together with offload, or together with more nodes, but fewer than
    more nodes alone would need."""
    most = len(plain.case.nodes) - 1 if plain else MOST_NODES
    best: Change | None = None
    for settings in _combined(case):
        moved = offloaded(settings.case) if plain is None else None
        change = moved or _more_nodes(settings.case, most)
        if change is None or not enough(case, change.case):
            continue
        name, paste = f"{settings.name}, {change.name}", _joined(settings.paste, change.paste)
        best = Change(name, paste, change.case, change.cost)
        if moved:
            break
        most = len(change.case.nodes) - 1
    return [_said(best)] if best else []


def _joined(*pastes: str) -> str:
    """Lines together; of two for one key the later one."""
    lines = [line for paste in pastes for line in paste.splitlines()]
    return "\n".join({line.partition(":")[0]: line for line in lines}.values())


def _combined(case: Case) -> Iterator[Change]:
    """Each setting alone, then each on top of those before it."""
    yield from (change for step in _STEPS if (change := step(case)) is not None)
    names: list[str] = []
    paste, planned = "", case
    for step in _STEPS:
        change = step(planned)
        if change is None:
            continue
        names.append(change.name)
        paste = _joined(paste, change.paste)
        planned = change.case
        yield Change(", ".join(names), paste, planned, change.cost)


def _sequential(case: Case) -> Change | None:
    """In a JSON of the user's own, a key; under `zero3`, the profile that sets it if the model needs it."""
    known_old = case.versions.deepspeed is not None and case.versions.deepspeed < SEQUENTIAL_GATHERS
    if not case.sharded or case.zero.sequential or known_old:
        return None
    cost = "more, smaller gathers"
    if not is_profile(case.deepspeed):
        paste = json_paste(case, "stage3_allgather_sequential", "true")
        return Change("gather tensor by tensor", paste, changed(case, sequential=True), cost)
    if case.deepspeed == "zero3":
        return Change("sizes that follow the model", "deepspeed: auto", with_profile(case, "auto"), cost)
    return None


def _not_reentrant(case: Case) -> Change | None:
    if not case.holds_every_layer:
        return None
    return Change("checkpoint without reentering", "use_reentrant_gc: false", changed(case, reentrant=False))


def _checkpoint(case: Case) -> Change | None:
    if case.setting.checkpointing:
        return None
    made, paste = changed(case, checkpointing=True), "disable_gradient_checkpointing: false"
    if made.holds_every_layer:
        made = changed(made, reentrant=False)
        paste += "\nuse_reentrant_gc: false"
    return Change("gradient checkpointing", paste, made, "a third more compute")


def _split_weights(case: Case) -> Change | None:
    if case.sharded or case.ranks == 1 or case.setting.stored_bits:
        return None
    paste = "deepspeed: auto" + ("\nquantization_bit: null" if case.setting.quantization_bits else "")
    return Change("ZeRO-3", paste, with_profile(case, "auto"), "gathers weights each step")


def _one_sample(case: Case) -> Change | None:
    if case.setting.micro_batch == 1:
        return None
    batch = case.setting.micro_batch
    paste = (
        f"per_device_train_batch_size: 1\ngradient_accumulation_steps: {case.setting.accumulation * batch}"
    )
    change = changed(case, micro_batch=1, accumulation=case.setting.accumulation * batch)
    return Change("one sample at a time", paste, change, f"{batch} times as many gathers per step")


def _evaluate_less(case: Case) -> Change | None:
    if case.setting.eval_batch <= 1:
        return None
    return Change(
        "evaluate one sample at a time",
        "per_device_eval_batch_size: 1",
        changed(case, eval_batch=1),
        "slower evaluation",
    )


def _fused_loss(case: Case) -> Change | None:
    if case.setting.liger or not case.setting.has_fused_loss or not families.has_liger(case.model.family):
        return None
    return Change(
        "Liger's fused loss", "enable_liger_kernel: true", changed(case, liger=True), "needs liger-kernel"
    )


def _shorter(case: Case) -> Change | None:
    for cutoff in (4096, 2048, 1024, 512):
        if cutoff < case.setting.cutoff:
            smaller = changed(case, cutoff=cutoff)
            if cutoff == 512 or enough(case, smaller):
                return Change(
                    f"samples of {cutoff} tokens", f"cutoff_len: {cutoff}", smaller, "longer samples are cut"
                )
    return None


_STEPS: tuple[Callable[[Case], Change | None], ...] = (
    _sequential,
    lockstep,
    _not_reentrant,
    _checkpoint,
    _evaluate_less,
    _fused_loss,
    _one_sample,
    _split_weights,
    _shorter,
)


def _more_nodes(case: Case, most: int = MOST_NODES) -> Change | None:
    """The fewest nodes of the same kind, up to `most`, with which it fits; a line under `nodes:` for those added."""
    if not case.sharded:
        return None
    a_node = max(case.nodes)
    for count in range(len(case.nodes) + 1, most + 1):
        larger = on_nodes(case, (*case.nodes, *(a_node,) * (count - len(case.nodes))))
        if enough(case, larger):
            more = count - len(case.nodes)
            cost = f"{more} more node{'s' if more > 1 else ''}"
            return Change(f"{count} nodes", node_lines(case, more), larger, cost)
    return None


def node_lines(case: Case, more: int) -> str:
    """A line for the run file's list of nodes: names that go on where the last one's number ends."""
    last, a_node = (case.node_names or ("node-0",))[-1], max(case.nodes)
    found = re.fullmatch(r"(.*?)(\d+)", last)
    stem, number = (found[1], found[2]) if found else (f"{last}-", "0")
    first, final = (str(int(number) + one).zfill(len(number)) for one in (1, more))
    name = f"{stem}{first}" if more == 1 else f"{stem}[{first}-{final}]"
    quoted = f'"{name}"' if "[" in name else name
    return f"- {{name: {quoted}, gpus: {a_node}}}"


def quantized(case: Case) -> Change | None:
    """The base in 4 bits, whole on every GPU: ZeRO-3 loads it whole in any case (transformers does not open zero.Init
    for a quantized model), so it is plain data parallel."""
    if not case.adapters or not case.setting.uses_gpu or case.setting.quantization_bits:
        return None
    made = dataclasses.replace(with_profile(case, "none"), deepspeed="none")
    made = changed(made, quantization_bits=4)
    cost = "rounded weights; needs bitsandbytes; not split over the ranks"
    return Change("a base of 4 bits on every GPU", "quantization_bit: 4\ndeepspeed: none", made, cost)


def offloaded(case: Case) -> Change | None:
    """The offload profile, if it fits."""
    if not case.setting.uses_gpu or case.zero.offload_parameters or case.setting.quantization_bits:
        return None
    moved = with_profile(case, "zero3-offload")
    memory = memory_of(moved)
    if memory.verdict != FITS:
        return None
    cost = f"{memory.host_total / GIB:,.0f} GiB of host memory per node, and every gather waits for PCIe"
    return Change("offload to host memory", "deepspeed: zero3-offload", moved, cost)
