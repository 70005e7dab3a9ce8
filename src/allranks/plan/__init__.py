"""Parameters, memory, traffic, time, ranks, environment and DeepSpeed JSON: pure arithmetic, no I/O, no torch."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from allranks.core.callable_room import make_callable

if TYPE_CHECKING:
    from allranks.plan.pages import ids, page
    from allranks.plan.planner import make_plan
    from allranks.plan.result import Plan

make_callable(__name__)

__all__ = ["Plan", "ids", "make_plan", "page"]

_HOMES = {"Plan": "result", "ids": "pages", "make_plan": "planner", "page": "pages"}


def __getattr__(name: str) -> Any:
    """Loads a part when it is first asked for: some verbs only want the pages or a type, and 27 modules take 60 ms."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
