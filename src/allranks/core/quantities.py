"""Bytes and durations as people read them, in one form everywhere.

Standard library alone, Python 3.8 and up.
"""

from __future__ import annotations

UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def in_bytes(count: float) -> str:
    """A number of bytes with three digits in binary units: `512 B`, `760 MiB`, `52.1 GiB`, `1.22 TiB`."""
    for unit in UNITS:
        if abs(count) < 999.5 or unit == UNITS[-1]:
            whole = unit == UNITS[0] or abs(count) >= 99.95
            return f"{count:,.0f} {unit}" if whole else f"{count:#.3g} {unit}"
        count /= 1024.0
    raise AssertionError("the last unit takes every number")


def in_seconds(seconds: float) -> str:
    """A duration in seconds as `0.212 s`, `12.3 s`, `30 s`, `4 min 12 s`, `3 h 05 min`, `14 h` or `2 d 3 h`."""
    sign, seconds = ("−" if seconds < 0 else ""), abs(seconds)
    if seconds < 59.95 and seconds == int(seconds):
        return f"{sign}{int(seconds)} s"
    if seconds < 1:
        return f"{sign}{seconds:.3f} s" if seconds >= 0.001 else f"{sign}{seconds:.3g} s"
    if seconds < 59.95:
        return f"{sign}{seconds:.{2 if seconds < 10 else 1}f} s"
    minutes, rest = divmod(int(seconds + 0.5), 60)
    if minutes < 60:
        return f"{sign}{minutes} min" + (f" {rest:02d} s" if rest else "")
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{sign}{hours} h" + (f" {minutes:02d} min" if minutes else "")
    return f"{sign}{hours // 24} d" + (f" {hours % 24} h" if hours % 24 else "")
