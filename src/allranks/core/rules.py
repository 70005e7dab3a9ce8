"""Rules of one kind: a file each in one package, found without being listed, also inside a zip."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from types import ModuleType
from typing import Dict


@functools.lru_cache(maxsize=None)
def modules(package: str) -> Dict[str, ModuleType]:
    """The modules of a package, sorted by the ids of their rules: the file's name with `-` for `_`."""
    names = sorted(one.name for one in pkgutil.iter_modules(importlib.import_module(package).__path__))
    return {name.replace("_", "-"): importlib.import_module(f"{package}.{name}") for name in names}


def page_of(rule_id: str, module: ModuleType) -> str:
    """What `allranks explain` prints of a rule whose docstring has no title."""
    return f"{rule_id}\n\n{(module.__doc__ or '').strip()}\n"
