"""Finds the causes and reads what their files declare. Each cause is one file; nothing lists them. Works in a zip too.

The folders are `symptoms/` here and those that `include` adds: `monitor/detectors/`, of a room below.
"""

from __future__ import annotations

from types import ModuleType
from typing import Dict, List, Optional, Tuple

from allranks.core.causes import NOTHING, UNPROVEN, Cause
from allranks.core.pages import FOUND, Page
from allranks.core.rules import modules as modules_of
from allranks.core.rules import page_of
from allranks.diagnose import symptoms as _package
from allranks.diagnose import wordings
from allranks.diagnose.claims import Claim
from allranks.diagnose.complaints import Complaint
from allranks.diagnose.symptom import Pattern
from allranks.diagnose.wordings import Nearest

SOURCE = "The logs of the ranks, of their launcher and of the node's kernel."
"""The source of a cause outside `symptoms/` that does not name another one. A symptom must name the program and the
file that its texts come from."""

SIMILAR = "Easily confused with "
"""The beginning of the paragraph on a page that names similar causes."""

_packages: List[ModuleType] = [_package]
_index: Dict[str, List[Tuple[str, Pattern]]] = {}
_causes: Dict[str, Cause] = {}
_claims: Dict[str, Claim] = {}
_complaints: Dict[str, Complaint] = {}


def include(package: ModuleType) -> None:
    """Adds a folder of causes."""
    if package not in _packages:
        _packages.append(package)
        _causes.clear()


def modules(package: ModuleType = _package) -> Dict[str, ModuleType]:
    """Every symptom's module by its id, in the order of the ids; of another folder, its modules."""
    return modules_of(package.__name__)


def cause(cause_id: str) -> Cause:
    """The properties of a cause, as its file declares them. The defaults if the file declares none or does not
    exist."""
    if not _causes:
        for package in _packages:
            for name, module in modules(package).items():
                _causes.setdefault(name, getattr(module, "CAUSE", Cause(name)))
        _causes[UNPROVEN] = NOTHING
    return _causes.get(cause_id) or Cause(cause_id)


def index() -> Dict[str, List[Tuple[str, Pattern]]]:
    """The patterns by their key word. Only patterns whose key word is in a line are tried on it, so the cost of a line
    does not grow with the catalogue."""
    if not _index:
        for symptom_id, module in modules().items():
            for pattern in module.PATTERNS:
                _index.setdefault(pattern.key, []).append((symptom_id, pattern))
    return _index


def frames() -> Dict[str, List[Tuple[str, Pattern]]]:
    """Patterns that know a frame as data, by its function."""
    known: Dict[str, List[Tuple[str, Pattern]]] = {}
    for symptom_id, pattern in (found for listed in index().values() for found in listed):
        if pattern.frame[0]:
            known.setdefault(pattern.frame[0], []).append((symptom_id, pattern))
    return known


def claims() -> Dict[str, Claim]:
    """The exceptions that symptoms claim and that no pattern knows."""
    if not _claims:
        found = {name: getattr(module, "CLAIM", None) for name, module in modules().items()}
        _claims.update((name, one) for name, one in found.items() if one is not None)
    return _claims


def complaints() -> Dict[str, Complaint]:
    """The subjects on which a complaint belongs to a symptom if no pattern knows it."""
    if not _complaints:
        found = {name: getattr(module, "COMPLAINT", None) for name, module in modules().items()}
        _complaints.update((name, one) for name, one in found.items() if one is not None)
    return _complaints


def nearest(text: str) -> Optional[Nearest]:
    """The cause that the words of an unknown error make likeliest; None if none leads clearly, or if the words are
    those of errors without a cause."""
    found = _sentences().vote(text)
    return None if found is None or found.lead < wordings.LEAD or found.cause == UNPROVEN else found


def shares(text: str) -> List[Tuple[float, str]]:
    """(probability, cause) of all causes by the words of a text, the likeliest first."""
    return _sentences().probabilities(text)


def _sentences() -> wordings.Sentences:
    return wordings.read(_package.__name__, [*modules(), UNPROVEN])


def ids() -> List[str]:
    return list(modules())


def page(cause_id: str) -> Page:
    """The page of a cause: the symptom's, if it also has a detector. KeyError if there is none of that id."""
    for package in _packages:
        module = modules(package).get(cause_id)
        source = "" if package is _package else SOURCE
        found = page_of(cause_id, module, source) if module is not None else None
        if found is not None:
            return found
    raise KeyError(cause_id)


def title(cause_id: str) -> str:
    return page(cause_id).title


def section(cause_id: str, heading: str) -> str:
    """One section of a cause's page as one line of text."""
    return " ".join(page(cause_id).sections[heading].split())


def similar(cause_id: str) -> str:
    """The similar causes that the page names, on one line; empty if it names none."""
    for paragraph in page(cause_id).sections[FOUND].split("\n\n"):
        if paragraph.startswith(SIMILAR):
            return " ".join(paragraph[len(SIMILAR) :].split())
    return ""
