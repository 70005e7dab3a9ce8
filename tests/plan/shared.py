"""What plans of one test process share: a model's description, its steps, and what a step gathers.

These are pure functions of their arguments. Most tests plan one of few models, and change something else.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import pytest

from allranks.plan import families, planning_input


def sharing(patch: pytest.MonkeyPatch) -> None:
    """The same arguments are computed once. What a key names by its identity is kept, so that no other takes it."""
    known: dict[Hashable, tuple[Any, Any]] = {}

    def once(key: Hashable, kept: Any, compute: Callable[[], Any]) -> Any:
        if key not in known:
            known[key] = compute(), kept
        return known[key][0]

    describe, steps_of, replay = families.describe, planning_input.steps_of, planning_input.replay

    def described(config: Any, fused_experts: bool = True) -> Any:
        return once((repr(config), fused_experts), None, lambda: describe(config, fused_experts))

    def stepped(model: Any, trained: Any, *more: Any, **words: Any) -> Any:
        key = id(model), trained, more, tuple(words.items())
        return once(key, model, lambda: steps_of(model, trained, *more, **words))

    def replayed(steps: Any, zero: Any, *more: Any) -> Any:
        return once((id(steps), zero.gathering, more), steps, lambda: replay(steps, zero, *more))

    patch.setattr(families, "describe", described)
    patch.setattr(planning_input, "steps_of", stepped)
    patch.setattr(planning_input, "replay", replayed)
