"""The symptoms: one file each under `symptoms/`, found without being listed, also inside a zip."""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType
from typing import Dict, List, Tuple

from allranks.diagnose import symptoms as _package
from allranks.diagnose.symptom import Pattern

_found: Dict[str, ModuleType] = {}
_index: Dict[str, List[Tuple[str, Pattern]]] = {}


def modules() -> Dict[str, ModuleType]:
    """Every symptom's module by its id, in the order of the ids."""
    if not _found:
        for module in sorted(pkgutil.iter_modules(_package.__path__), key=lambda m: m.name):
            _found[module.name.replace("_", "-")] = importlib.import_module(
                _package.__name__ + "." + module.name
            )
    return _found


def index() -> Dict[str, List[Tuple[str, Pattern]]]:
    """Patterns by the word they are looked up by: a line's words decide which patterns are tried at all, so
    the cost of a line does not grow with the catalogue."""
    if not _index:
        for symptom_id, module in modules().items():
            for pattern in module.PATTERNS:
                _index.setdefault(pattern.key, []).append((symptom_id, pattern))
    return _index


def ids() -> List[str]:
    return list(modules())


def page(symptom_id: str) -> str:
    """The page of a symptom; KeyError where there is none of that id."""
    return (modules()[symptom_id].__doc__ or "").strip() + "\n"


def title(symptom_id: str) -> str:
    return page(symptom_id).split("\n", 1)[0]


def section(symptom_id: str, heading: str) -> str:
    """One section of a symptom's page as one line of text, empty where the page has none."""
    _, _, rest = page(symptom_id).partition("## " + heading + "\n")
    return " ".join(rest.split("\n## ", 1)[0].split())
