"""Installed packages do not fit together, according to their own metadata.

## How it is found
What LLaMA-Factory, transformers, PEFT, accelerate, TRL and DeepSpeed say in their metadata that they need,
against the versions installed beside them on each node. LLaMA-Factory's needs count only for a run that starts it.

## Why it matters
LLaMA-Factory compares versions at its start and ends every rank if one is outside its fence (0.9.5 wants
transformers up to 5.6.0, 0.9.3 up to 4.52.4). Others fail later, in the middle of loading.

## What to do
Install a version inside the fence, which the finding gives. `DISABLE_VERSION_CHECK: "1"` in `env` silences
LLaMA-Factory, at your own risk.

## Source
The packages' own metadata (Requires-Dist); LLaMA-Factory `extras/misc.py`, `check_dependencies`.

Topic: settings
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.version import InvalidVersion

from allranks.checks.context import Context, Findings, View, on_host
from allranks.checks.phrases import listed

NEEDS = ("software.requires", "software.versions")
UNKNOWN_BLOCKS = False
applies = on_host


def check(context: Context) -> Findings:
    silenced = context.run.env.get("DISABLE_VERSION_CHECK", "0").lower() in ("1", "true")
    for view in context.machines:
        for package, broken in outside(view).items():
            if package == "llamafactory" and not trains_with_llamafactory(context):
                continue  # your own script does not compare LLaMA-Factory's versions
            ends = package == "llamafactory" and not silenced
            say = context.block if ends else context.warn
            yield say(
                view,
                saw=f"{view.name}: {package} {view.get(f'software.versions.{package}')} needs "
                + listed(f"{name}{fence}, {version} is installed" for name, fence, version in broken),
                expected="versions inside the fence",
                why="every rank would end at its start, where LLaMA-Factory compares versions."
                if ends
                else "what it calls may be missing or mean something else.",
                fix="pip install " + " ".join(f'"{name}{fence}"' for name, fence, _ in broken),
            )


def trains_with_llamafactory(context: Context) -> bool:
    return context.llamafactory or any("llamafactory" in word for word in context.run.train.command)


def outside(view: View) -> dict[str, list[tuple[str, str, str]]]:
    """package → `(needed package, its fence, what is installed)` that do not fit."""
    versions = {str(k).lower().replace("_", "-"): v for k, v in view.map("software.versions").items()}
    found: dict[str, list[tuple[str, str, str]]] = {}
    for package, needs in view.map("software.requires").items():
        for need in needs if isinstance(needs, list) else []:
            broken = unmet(str(need), versions)
            if broken:
                found.setdefault(str(package), []).append(broken)
    return found


def unmet(need: str, versions: Mapping[str, Any]) -> tuple[str, str, str] | None:
    requirement = parsed(need)
    installed = versions.get(requirement.name.lower().replace("_", "-")) if requirement else None
    if requirement is None or not isinstance(installed, str) or contains(need, installed):
        return None
    return (requirement.name, str(requirement.specifier), installed)


@functools.lru_cache(maxsize=1024)
def parsed(need: str) -> Requirement | None:
    """None for what is none, or holds under conditions only."""
    try:
        requirement = Requirement(need)
    except InvalidRequirement:
        return None
    return None if requirement.marker is not None else requirement


@functools.lru_cache(maxsize=4096)
def contains(need: str, version: str) -> bool:
    """Whether a version is inside a fence; one that cannot be read counts as inside."""
    requirement = parsed(need)
    try:
        return requirement is None or requirement.specifier.contains(version, prereleases=True)
    except InvalidVersion:
        return True
