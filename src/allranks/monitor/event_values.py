"""An event's fields as what they should be: it comes from another machine, and may hold anything."""

from __future__ import annotations

from typing import Any, List, Optional


def number(value: Any) -> Optional[float]:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def integer(value: Any) -> Optional[int]:
    return int(value) if isinstance(value, int) and not isinstance(value, bool) else None


def listed(value: Any) -> List[Any]:
    return list(value) if isinstance(value, (list, tuple)) else []
