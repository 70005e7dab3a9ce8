"""Too little space for what the run will save.

## How it is found
allranks compares the free space of the checkpoint folder with the space that the plan expects: as many checkpoints
as `save.keep` keeps, and one more. The new one is written before the oldest is removed; and the free inodes.

## Why it matters
A full disk ends the run at a save, hours after its start, and leaves half a checkpoint.

## What to do
Free space, keep fewer checkpoints (`save.keep`), save only the adapter (`save_only_model: true`), or save
elsewhere (`save.to`).

## Source
A LoRA checkpoint under ZeRO-3 holds the adapter (at most 4 bytes per trainable parameter). Unless
`save_only_model`, it also holds the optimizer's states: 12 bytes per trainable parameter over all ranks (fp32
parameter, two moments of Adam), and the trainable parameters once more in each rank's model states; DeepSpeed 0.19
`runtime/engine.py`.

Topic: storage
"""

from __future__ import annotations

from allranks.checks.context import Context, Findings, View
from allranks.checks.fact_request import path_on_node
from allranks.core.quantities import in_bytes
from allranks.core.untrusted import mapping, number
from allranks.spec.trainer_yaml import is_on

NEEDS = ("storage.paths", "system.allranks_home")

SPARE_BYTES = 1 << 30
"""Logs, event files and the journal of a long run; and what else is on that disk goes on writing."""

FEW_INODES = 10_000
"""A checkpoint has about 10 files per rank; Python and tokenizer caches have some thousand."""


def check(context: Context) -> Findings:
    wanted = planned_bytes(context)
    for view in context.machines:
        path = target(context, view)
        state = mapping(view.map("storage.paths").get(path))
        free, inodes, free_inodes = (number(state.get(n)) for n in ("free_bytes", "inodes", "free_inodes"))
        if free is not None and free < wanted:
            yield context.block(
                view,
                key="save.to",
                saw=f"{path} on {view.name} has {in_bytes(free)} free ({state.get('mount')}, {state.get('type')})",
                expected=f"{in_bytes(wanted)}: {context.run.save.keep + 1} checkpoints of "
                f"{in_bytes(checkpoint_bytes(context))}, and {in_bytes(SPARE_BYTES)} for logs",
                why="the run would end at a save and leave half a checkpoint.",
                fix="free space there, save: {keep: 1}, or save: {to: …} on a larger disk",
            )
        if inodes and free_inodes is not None and free_inodes < FEW_INODES:
            yield context.block(
                view,
                key="save.to",
                saw=f"{path} on {view.name} has {free_inodes:,.0f} free inodes of {inodes:,.0f}",
                expected=f"{FEW_INODES:,}",
                why="no file can be made once they are used up, whatever the free space.",
                fix="remove small files there, or save: {to: …} on another filesystem",
            )


def target(context: Context, view: View) -> str:
    """The folder that checkpoints go to on this node; empty if only the container has it."""
    if context.run.save.to:
        return path_on_node(context.run, context.run.saved(context.run.save.to)) or ""
    return view.text("system.allranks_home") or ""


def saves_at_the_end_alone(context: Context) -> bool:
    """YAML takes a bare `no` for false."""
    return context.arguments.get("save_strategy") in ("no", False)


def checkpoint_bytes(context: Context) -> int:
    """One checkpoint's bytes on one node, at most; 0 if the plan does not know the parameters."""
    trainable = number(getattr(context.plan, "trainable_parameters", None)) or 0
    total = number(getattr(context.plan, "total_parameters", None)) or 0
    weights = trainable * 4
    if is_on(context.arguments.get("save_only_model")) or saves_at_the_end_alone(context):
        return int(weights)
    if trainable == total:  # a whole model beside its training's state is saved in 16 bits
        weights = total * 2
    return int(weights + trainable * (12 + 4))


def planned_bytes(context: Context) -> int:
    count = 1 if saves_at_the_end_alone(context) else context.run.save.keep + 1
    return checkpoint_bytes(context) * count + SPARE_BYTES
