"""Lines that a log collector wrapped in JSON: the line itself, and which machine, rank and time the record names.

Docker's own files, CRI and fluent-bit, stern, journald, cloud logs, and loggers that write JSON.
"""

from __future__ import annotations

import json
import re
from typing import Any, Dict, Iterator, List, Optional

from allranks.diagnose.json_errors import errors_in, says_exception
from allranks.diagnose.prefixes import LOCAL, NODE, RANK, TIME, stamp

MESSAGES = (
    "log",
    "MESSAGE",
    "message",
    "msg",
    "textPayload",
    "@message",
    "text",
    "line",
    "body",
    "_raw",
    "event",
)
HOSTS = (
    "nodeName", "node_name", "_HOSTNAME", "hostname", "host", "node", "HOSTNAME", "podName", "pod_name", "pod",
    "instance",
)  # fmt: skip
"""A machine's name before a pod's: that is what one looks after."""

RANKS = ("rank", "global_rank", "RANK", "process_index")
LOCALS = ("local_rank", "LOCAL_RANK")
TIMES = (
    "time", "timestamp", "@timestamp", "__REALTIME_TIMESTAMP", "ts", "t", "asctime", "date", "eventTime",
)  # fmt: skip
INNER = (
    "kubernetes",
    "labels",
    "resource",
    "attributes",
    "fields",
    "extra",
    "record",
    "jsonPayload",
    "metadata",
)
COUNTS = ("step", "global_step", "epoch", "iteration", "iter", "update")
NOT_FIGURES = frozenset((*RANKS, *LOCALS, *TIMES, "pid", "lineno", "line", "level", "world_size"))
QUIET = ("INFO", "DEBUG", "TRACE")
LOW = (*QUIET, "WARNING", "WARN")
MOST_FIGURES = 16
MOST_LINES = 1000
_DATE = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d")
_FLUENT = re.compile(
    r"\[\d{1,9}\] (?P<tag>[\w.*-]{1,250}): \[\[?(?P<epoch>\d{10})(?:\.\d{1,9})?, (?:\{[^{}]{0,200}\}\], )?"
    r"\{.{0,400}?\"(?:log|message|MESSAGE)\"=>\"(?P<text>.{0,4096})\""
)


def looks_wrapped(raw: str) -> bool:
    return raw.startswith('{"') or (raw[:1] == "[" and '"=>"' in raw) or raw.startswith('{ "')


def unwrap(raw: str, place: List[Any]) -> Optional[List[str]]:
    """The lines in a record; their place is stored in `place`. None if it is not a record of a line."""
    if raw[0] == "[":
        return _fluent(raw, place)
    try:
        record = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict):
        return None
    parts = [record, *(record[name] for name in INNER if isinstance(record.get(name), dict))]
    text = next(_texts(parts, MESSAGES), None)
    errors = errors_in(parts)
    if text is not None:
        told = _said(record, text, errors)
    elif any(map(says_exception, errors)):
        told = errors
    else:
        return None
    _place(parts, place)
    return "\n".join(told).rstrip("\n").split("\n")[:MOST_LINES]


def _said(record: Dict[str, Any], text: str, errors: List[str]) -> List[str]:
    """A message with the errors of its record. One that names no exception belongs to the message: `retry: refused`.

    The level is only the program's own if the record has no collector's field: that of a collector tells which stream
    it was. A step's message has its figures in other fields (`{"event": "step", "step": 5, "loss": 0.1}`).
    """
    short = [error for error in errors if "\n" not in error and not says_exception(error)]
    level = str(record.get("level")).upper()
    if short:
        text = ": ".join((text, *short))
    if (level in QUIET and "msg" in record and not errors) or (level in LOW and short):
        text = f"{level} {text}"
    if any(_is_number(record.get(name)) for name in COUNTS):
        figures = [
            f"{name}={value}"
            for name, value in record.items()
            if _is_number(value) and name not in NOT_FIGURES
        ]
        text = " ".join((text, *figures[:MOST_FIGURES]))
    return [text, *(error for error in errors if error not in short)]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _texts(parts: List[Dict[str, Any]], names: "tuple[str, ...]") -> Iterator[str]:
    for part in parts:
        for name in names:
            value = part.get(name)
            if name == "MESSAGE" and isinstance(value, list) and all(isinstance(n, int) for n in value):
                value = bytes(n & 255 for n in value).decode(
                    "utf-8", "replace"
                )  # journald's, of a line that is not text
            if isinstance(value, str):
                yield value


def _place(parts: List[Dict[str, Any]], place: List[Any]) -> None:
    host = next((p[n] for n in HOSTS for p in parts if isinstance(p.get(n), str) and p[n]), None)
    place[NODE] = host or place[NODE]
    for slot, names in ((RANK, RANKS), (LOCAL, LOCALS)):
        for value in (p.get(n) for n in names for p in parts):
            if isinstance(value, str) and value.isdigit() and len(value) <= 6:
                value = int(value)
            if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1_000_000:
                place[slot] = value
                break
    for value in (p.get(n) for n in TIMES for p in parts):
        told = _time(value)
        if told is not None:
            place[TIME] = told
            break


def _time(value: Any) -> Optional[str]:
    """A time as a text. A date stays as it is. A number is taken as seconds, milli-, micro- or nanoseconds since 1970,
    according to its size."""
    if isinstance(value, str) and _DATE.match(value):
        return value
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    while 1e11 < number < 1e20:
        number /= 1000.0
    return (stamp("epoch", f"{number:.6f}") or None) if 1e9 < number < 1e10 else None


def _fluent(raw: str, place: List[Any]) -> Optional[List[str]]:
    found = _FLUENT.match(raw)
    if found is None:
        return None
    place[TIME] = stamp("epoch", found.group("epoch")) or place[TIME]
    pod = found.group("tag").partition("containers.")[2].split("_", 1)[0]
    place[NODE] = (pod[: -len(".log")] if pod.endswith(".log") else pod) or place[NODE]
    return [found.group("text").replace('\\"', '"')]
