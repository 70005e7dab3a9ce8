"""Fields of JSON from a node, a log or a file: each getter gives a value of the type it names, or nothing.

Standard library alone, Python 3.8 and up.
"""

from __future__ import annotations

import math
from typing import Any, List, Mapping, Optional


def number(value: Any) -> Optional[float]:
    """A finite number as it is; None for anything else. A bool and a numeric string are not numbers."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return value if math.isfinite(value) else None
    except OverflowError:  # an integer that no float can hold
        return None


def integer(value: Any) -> Optional[int]:
    """An integer; `3.0` is one too, since some writers of JSON know floats alone."""
    found = number(value)
    return int(found) if found is not None and found == int(found) else None


def text(value: Any) -> Optional[str]:
    """A string that is not empty."""
    return value if isinstance(value, str) and value else None


def mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, (dict, Mapping)) else {}


def listing(value: Any) -> List[Any]:
    return list(value) if isinstance(value, (list, tuple)) else []


def mappings(value: Any) -> List[Mapping[str, Any]]:
    """The mappings of a list; its other items are left out."""
    return [item for item in listing(value) if isinstance(item, (dict, Mapping))]
