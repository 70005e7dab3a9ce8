"""A case of a check: a recorded cluster, what is changed in it, and what must follow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


class Remove:
    """As a value in `Case.change`: the fact, or the key, is not there."""


@dataclass(frozen=True)
class Unreadable:
    """As a value in `Case.change`: the fact could not be read, for this reason."""

    reason: str


@dataclass(frozen=True)
class Case:
    """`cluster` names a folder of `tests/recorded`. `change` maps places to values.

    A place is a path of names with `/` between them: `node-1/system/boot_id`, `*/gpus/list/0/mig` (every
    node), `run/env/NCCL_P2P_DISABLE`, `run/train/arguments/max_steps`, `deepspeed/zero_optimization/stage`
    (a DeepSpeed JSON of the user's). A number is an index of a list. A place whose own names hold a slash
    is written as a tuple.

    With `fires` exactly this check says something, at `node` where that is given; without it, this check
    stays silent (the others may speak).
    """

    cluster: str
    change: Mapping[Any, Any] = field(default_factory=dict)
    fires: bool = True
    node: str | None = None
    verdict: str | None = None
    saw: str = ""
    """A part of what the finding must say it saw."""

    also: tuple[str, ...] = ()
    """Other checks that rightly speak, too; each case that needs one says why in a comment."""


def fires(cluster: str, change: Mapping[Any, Any], **expected: Any) -> Case:
    return Case(cluster, change, True, **expected)


def silent(cluster: str, change: Mapping[Any, Any] | None = None) -> Case:
    return Case(cluster, change or {}, False)
