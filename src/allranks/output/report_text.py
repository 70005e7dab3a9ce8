"""Words and numbers for people: what the report and the terminal both write. Standard library alone.

Whatever came from a node, a log or a file is data. `printable` makes it safe for a terminal, `escape`
for HTML; both show what they replace.
"""

from __future__ import annotations

import html
import math
import re
import time
import unicodedata
from typing import Any, Dict, Iterable, List, Optional, Tuple

from allranks.core.untrusted import number

MISSING = "—"

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
"""What the run's phases are called where a person reads of them."""

LONGEST = 4000
"""Characters of one text that are shown. A page of traceback fits; a log of one endless line does not."""


def spelt_out(text: str) -> str:
    """The text with everything unseen spelt out (`\\x1b`, `\\u202e`); line ends and tabs are kept.

    Unseen are control and escape codes, zero-width and direction-changing characters, lone surrogates
    and unassigned code points: what moves a cursor, recolours a terminal, or misleads a reader.
    """
    if text.isprintable():
        return text
    return "".join(c if c in "\n\t" or _seen(c) else _spelt(c) for c in text)


def printable(text: Any, longest: int = LONGEST) -> str:
    """Anything as text for people: spelt out, tabs as spaces, cut at `longest` characters with a word of it."""
    text = str(text)
    left = len(text) - longest
    text = spelt_out(text[:longest]).expandtabs(4)
    return f"{text}… ({left:,} more characters)" if left > 0 else text


def _seen(character: str) -> bool:
    return character.isprintable() or unicodedata.category(character) == "Zs"


def one_line(text: Any, longest: int = LONGEST) -> str:
    """`printable`, with line ends shown as ⏎ as well."""
    return printable(text, longest).replace("\n", " ⏎ ")


def _spelt(character: str) -> str:
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def escape(text: Any, longest: int = LONGEST) -> str:
    """The text as HTML content or as an attribute's value in double quotes."""
    return html.escape(printable(text, longest), quote=True)


def count(value: Any) -> str:
    """`28032` → `28,032`."""
    found = number(value)
    if found is None:
        return MISSING
    return f"{int(value):,}" if found == int(found) else f"{found:,.4g}"


def plural(amount: int, one: str, many: Optional[str] = None) -> str:
    """`3 nodes`, `1 node`."""
    return f"{amount:,} {one if amount == 1 else many or one + 's'}"


def size(value: Any) -> str:
    """Bytes in binary units: `760 MiB`, `52.1 GiB`."""
    found = number(value)
    if found is None:
        return MISSING
    for unit in ("B", "KiB", "MiB", "GiB", "TiB", "PiB"):
        if abs(found) < 999.5 or unit == "PiB":
            return f"{found:.0f} {unit}" if unit == "B" or abs(found) >= 99.95 else f"{found:#.3g} {unit}"
        found /= 1024.0
    return MISSING


def seconds(value: Any) -> str:
    """A duration: `0.212 s`, `12.3 s`, `4 min 12 s`, `3 h 05 min`, `2 d 3 h`."""
    found = number(value)
    if found is None:
        return MISSING
    sign, found = ("−" if found < 0 else ""), abs(found)
    if found < 59.95:
        digits = 3 if found < 1 else 2 if found < 10 else 1
        return f"{sign}{found:.{digits}f} s" if found else "0 s"
    minutes, rest = divmod(int(found + 0.5), 60)
    if minutes < 60:
        return f"{sign}{minutes} min {rest:02d} s"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{sign}{hours} h {minutes:02d} min"
    return f"{sign}{hours // 24} d {hours % 24} h"


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
    """`short`, with its zeros: `5.930` stands under `5.942`."""
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


_NUMBERED = re.compile(r"^(.*?)([0-9]{1,9})([^0-9]*)$", re.S)


def fold(names: Iterable[str]) -> str:
    """Names with running numbers, folded: `node-[0-2,7]`, `gpu01,head`. Each name once, in natural order.

    The same form as `spec.fold`, which the report cannot import: it travels to nodes without `spec`. A name
    with brackets or a comma of its own stays whole.
    """
    plain: List[str] = []
    groups: Dict[Tuple[str, str, int], List[int]] = {}
    for name in sorted(set(names)):
        match = None if any(letter in name for letter in "[],") else _NUMBERED.match(name)
        if match is None:
            plain.append(name)
            continue
        before, digits, after = match.groups()
        padded = len(digits) if digits.startswith("0") and len(digits) > 1 else 0
        groups.setdefault((before, after, padded), []).append(int(digits))
    _join_padded(groups)
    folded = [_fold_group(key, numbers) for key, numbers in groups.items()]
    return ",".join(sorted(folded + plain, key=natural))


def _join_padded(groups: "Dict[Tuple[str, str, int], List[int]]") -> None:
    """`node08`, `node09`, `node10` are one range: unpadded numbers as wide as the padded ones join them."""
    for before, after, width in [key for key in groups if key[2]]:
        bare = groups.get((before, after, 0), [])
        joining = [n for n in bare if len(str(n)) == width]
        if joining:
            groups[(before, after, width)].extend(joining)
            bare[:] = [n for n in bare if len(str(n)) != width]
            if not bare:
                del groups[(before, after, 0)]


def _fold_group(key: "Tuple[str, str, int]", numbers: List[int]) -> str:
    before, after, width = key
    ranges = spans(numbers, width)
    if len(numbers) == 1:
        return f"{before}{ranges}{after}"
    return f"{before}[{ranges}]{after}"


def spans(numbers: Iterable[int], width: int = 0) -> str:
    """`0-3,7` for 0, 1, 2, 3, 7."""
    found: List[List[int]] = []
    for n in sorted(set(numbers)):
        if found and n == found[-1][1] + 1:
            found[-1][1] = n
        else:
            found.append([n, n])
    return ",".join(f"{a:0{width}d}" if a == b else f"{a:0{width}d}-{b:0{width}d}" for a, b in found)


def natural(text: str) -> List[Tuple[int, int, str]]:
    """A sort key in which node-2 comes before node-10."""
    parts = re.split(r"([0-9]{1,9})", text)
    return [(0, int(part), "") if part.isdigit() and part.isascii() else (1, 0, part) for part in parts]
