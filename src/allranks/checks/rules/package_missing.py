"""A package that this run needs is not installed on a node.

## How it is found
For a LLaMA-Factory run: llamafactory, torch, transformers, peft, accelerate, datasets, trl; deepspeed if
the run uses it; the package of each logger that `report_to` names.

## Why it matters
One node without it ends the whole run. TensorBoard alone can: transformers raises on that node's first
rank, and the others wait until their timeout.

## What to do
Install it in that node's training environment, or say `report_to: none` if it is a logger.

## Source
LLaMA-Factory 0.9.5 `hparams/parser.py`; transformers 5.6 `integrations/integration_utils.py`:
`get_reporting_integration_callbacks` raises for a logger that is not installed.

Topic: software
"""

from __future__ import annotations

from allranks.checks.context import Context, Findings, on_host
from allranks.checks.fact_request import uses_deepspeed
from allranks.checks.phrases import listed
from allranks.core.untrusted import listing

NEEDS = ("software.versions",)
applies = on_host

TRAINER = ("llamafactory", "torch", "transformers", "peft", "accelerate", "datasets", "trl")
LOGGERS = {
    "tensorboard": ("tensorboard", "tensorboardX"),
    "wandb": ("wandb",),
    "mlflow": ("mlflow",),
    "swanlab": ("swanlab",),
}
"""Any one of the packages is enough for its logger."""


def check(context: Context) -> Findings:
    for view in context.machines:
        versions = view.map("software.versions")
        if not versions:
            continue
        missing = [names for names in wanted(context) if not any(versions.get(name) for name in names)]
        if missing:
            first = [names[0] for names in missing]
            logger = all(any(names == other for other in LOGGERS.values()) for names in missing)
            yield context.block(
                view,
                saw=f"{listed(first)} is not installed in the training environment of {view.name}",
                expected=f"{listed(first)}, as this run's trainer imports it",
                why="this node's ranks would end at the import, and all others wait for them.",
                fix=f"{view.text('software.python.executable') or 'python'} -m pip install {' '.join(first)}"
                + (", or report_to: none" if logger else ""),
            )


def wanted(context: Context) -> list[tuple[str, ...]]:
    """Groups of packages of which one each must be there."""
    if not context.llamafactory:
        return [("torch",)]
    names: list[tuple[str, ...]] = [(name,) for name in TRAINER]
    if uses_deepspeed(context.run):
        names.append(("deepspeed",))
    return names + [LOGGERS[name] for name in loggers(context) if name in LOGGERS]


def loggers(context: Context) -> list[str]:
    value = context.arguments.get("report_to")
    return value.split(",") if isinstance(value, str) else [str(name) for name in listing(value)]
