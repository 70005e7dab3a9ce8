"""The detectors: one file each under `detectors/`, found without being listed, also inside a zip.

A detector's id is its file's name with `-` for `_`. The file has a docstring (its page), and one or both of
`after(run, event)` with `AFTER`, the kinds of events it looks after, and `detect(run, now)`, called at each tick.
Both return findings; what they return again is said once. Its cases are in `tests/monitor/cases/`.
"""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType
from typing import Dict, List

from allranks.monitor import detectors as _package

_found: Dict[str, ModuleType] = {}


def rules() -> Dict[str, ModuleType]:
    """Every detector by its id, in the order of their ids."""
    if not _found:
        for module in sorted(pkgutil.iter_modules(_package.__path__), key=lambda m: m.name):
            name = module.name
            _found[name.replace("_", "-")] = importlib.import_module(_package.__name__ + "." + name)
    return _found


def ids() -> List[str]:
    return list(rules())


def page(detector_id: str) -> str:
    """The page of a detector; KeyError where there is none of that name."""
    return (rules()[detector_id].__doc__ or "").strip() + "\n"
