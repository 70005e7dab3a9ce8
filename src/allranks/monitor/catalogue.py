"""The detectors: every module of `detectors/` is one, also inside a zip.

A detector's id is its file's name with `-` for `_`. The file has a docstring (its page), and one or both of `after(run,
event)` with `AFTER`, the kinds of events that it handles, and `detect(run, now)`, called at each tick. Both return
findings; the same finding is reported once. Its cases are in `tests/monitor/cases/`.
"""

from __future__ import annotations

from types import ModuleType
from typing import Dict, List, Optional

from allranks.core.pages import Page
from allranks.core.rules import modules, page_of
from allranks.diagnose import catalogue
from allranks.monitor import detectors as _package

catalogue.include(_package)

SOURCE = (
    "The events that ranks and supervisors report during the run; docs/architecture.md has a table of them."
)
"""The source of detectors that do not name one."""


def rules() -> Dict[str, ModuleType]:
    """Every detector by its id, in the order of their ids."""
    return modules(_package.__name__)


def ids() -> List[str]:
    return list(rules())


def page(rule_id: str) -> Optional[Page]:
    """The page of a detector; None if a symptom of the same id has the page. Raises KeyError if no detector has that
    id."""
    return page_of(rule_id, rules()[rule_id], SOURCE)
