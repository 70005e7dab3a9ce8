"""A room that can be called: `allranks.plan(…)` and `allranks.diagnose(…)` are also the rooms of these names.

Standard library alone, Python 3.8 and up.
"""

from __future__ import annotations

import importlib
import sys
import types
from typing import Any


class CallableRoom(types.ModuleType):
    """Calls the function of the same name in `allranks.api`, which is loaded for that."""

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        api = importlib.import_module("allranks.api")
        return getattr(api, self.__name__.rpartition(".")[2])(*arguments, **named)


def make_callable(name: str) -> None:
    """Called by the room itself, since importing it puts it into the package under its name."""
    sys.modules[name].__class__ = CallableRoom
