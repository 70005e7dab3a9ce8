"""Words and numbers for people, shared by the report and the terminal. Only the standard library.

All text from a node, a log or a file is data. `readable` makes it safe for a terminal, `escape` for HTML. Both show
the characters that they replace.
"""

from __future__ import annotations

import html
import math
import time
from typing import Any

from allranks.core.quantities import in_bytes, in_seconds
from allranks.core.text import spelt_out
from allranks.core.untrusted import number

MISSING = "—"

LONGEST = 4000
"""The most characters that are shown of one text. A page of traceback fits; a log with one endless line does not."""

PHASES = {
    "check": "checking",
    "prepare": "preparing",
    "probe": "probing",
    "launch": "starting",
    "watch": "training",
    "stop": "stopping",
    "verify": "verifying",
    "prove": "loading the adapter",
    "prune": "pruning",
    "report": "reporting",
}
"""The names of the run's phases for people."""


def readable(text: Any, longest: int = LONGEST) -> str:
    """Any value as text for people: control characters spelt out, tabs as spaces, cut at `longest` characters with a
    note about the rest."""
    text = str(text)
    left = len(text) - longest
    text = spelt_out(text[:longest]).expandtabs(4)
    return f"{text}… ({left:,} more characters)" if left > 0 else text


def one_line(text: Any, longest: int = LONGEST) -> str:
    """Like `readable`, but line ends are shown as ⏎, too."""
    return readable(text, longest).replace("\n", " ⏎ ")


def escape(text: Any, longest: int = LONGEST) -> str:
    """The text as HTML content or as an attribute's value in double quotes."""
    return html.escape(readable(text, longest), quote=True)


def count(value: Any) -> str:
    """`28032` → `28,032`."""
    found = number(value)
    if found is None:
        return MISSING
    return f"{int(value):,}" if found == int(found) else f"{found:,.4g}"


def size(value: Any) -> str:
    """Bytes in binary units: `760 MiB`, `52.1 GiB`."""
    found = number(value)
    return MISSING if found is None else in_bytes(found)


def seconds(value: Any) -> str:
    """A duration: `0.212 s`, `12.3 s`, `4 min 12 s`, `3 h 05 min`, `2 d 3 h`."""
    found = number(value)
    return MISSING if found is None else in_seconds(found)


def compact_seconds(value: Any) -> str:
    """A short duration for a clock: `0:07`, `12:30`, `3:05:00`."""
    found = number(value)
    if found is None:
        return MISSING
    minutes, rest = divmod(int(max(found, 0.0) + 0.5), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def short(value: Any) -> str:
    """Four significant digits for a loss or a rate: `6.942`, `1.00e-05`; `nan` and `inf` stay."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    found = number(value)
    if found is None:
        return MISSING
    if found and not 1e-3 <= abs(found) < 1e6:
        return f"{found:.2e}"
    return f"{found:,.0f}" if abs(found) >= 1000 else f"{found:.4g}"


def loss_text(value: Any) -> str:
    """Like `short`, but with trailing zeros: `5.930` under `5.942`."""
    found = number(value)
    return f"{found:#.4g}" if found is not None and 1e-3 <= abs(found) < 1000 else short(value)


def share(value: Any) -> str:
    """A fraction as a percentage: `0.043` → `4.3 %`."""
    found = number(value)
    if found is None:
        return MISSING
    percent = 100.0 * found
    return f"{percent:.0f} %" if abs(percent) >= 10 or percent == 0 else f"{percent:.1f} %"


def moment(value: Any) -> str:
    """Seconds since the epoch as `2026-11-21 01:37:05 UTC`."""
    found = number(value)
    if found is None or not 0 < found < 253402300800:
        return MISSING
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(found))
