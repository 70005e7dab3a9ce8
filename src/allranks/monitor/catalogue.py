"""The detectors: one file each under `detectors/`, found without being listed, also inside a zip.

A detector's id is its file's name with `-` for `_`. The file has a docstring (its page), and one or both of
`after(run, event)` with `AFTER`, the kinds of events it looks after, and `detect(run, now)`, called at each tick.
Both return findings; what they return again is said once. Its cases are in `tests/monitor/cases/`.
"""

from __future__ import annotations

from types import ModuleType
from typing import Dict, List

from allranks.core.rules import modules
from allranks.diagnose import catalogue
from allranks.monitor import detectors as _package

catalogue.include(_package)
page = catalogue.page


def rules() -> Dict[str, ModuleType]:
    """Every detector by its id, in the order of their ids."""
    return modules(_package.__name__)


def ids() -> List[str]:
    return list(rules())
