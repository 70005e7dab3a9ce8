"""Values for JSON, which has no NaN and no infinity."""

from __future__ import annotations

import math
from typing import Any


def finite(data: Any) -> Any:
    """The same data with null in place of numbers that JSON does not have, and with keys as strings."""
    if isinstance(data, float):
        return data if math.isfinite(data) else None
    if isinstance(data, dict):
        return {str(key): finite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [finite(value) for value in data]
    return data
