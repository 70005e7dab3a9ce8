"""Rules of one kind: a file each in one package, found without being listed, also inside a zip."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from types import ModuleType
from typing import Dict, Optional

from allranks.core.pages import Page, is_page, parse


@functools.lru_cache(maxsize=None)
def modules(package: str) -> Dict[str, ModuleType]:
    """The modules of a package, sorted by the ids of their rules: the file's name with `-` for `_`."""
    names = sorted(one.name for one in pkgutil.iter_modules(importlib.import_module(package).__path__))
    return {name.replace("_", "-"): importlib.import_module(f"{package}.{name}") for name in names}


def page_of(rule_id: str, module: ModuleType, source: str = "") -> Optional[Page]:
    """The page in a rule's docstring; None if it has none, because a rule of another room has the page of this id."""
    text = module.__doc__ or ""
    return parse(rule_id, text, source=source) if is_page(text) else None
