"""Errors and tracebacks in the fields of a JSON record, as loggers write them: python-json-logger and Ray (`exc_info`,
`exc_text`), structlog (`exception` with a list of frames), Elastic's common schema (`error` with `message`, `type` and
`stack_trace`), zap, logrus and slog (`error`, `err`, `stacktrace`), and torchelastic's error files (`extraInfo`).
"""

from __future__ import annotations

import re
from typing import Any, Dict, Iterator, List

TRACEBACKS = (
    "exc_info",
    "exception",
    "stack_trace",
    "stacktrace",
    "traceback",
    "exc_text",
    "error.stack_trace",
    "py_callstack",
    "tb",
    "trace",
    "stack",
)
ERRORS = ("error", "err", "error.message", "error_message", "exc", "exception", "reason")
NESTED = ("error", "err", "exception", "extraInfo", "message")
"""Objects in which a record may hold the same fields."""

_EXCEPTION = re.compile(
    r"(?m)^(?:[A-Za-z_][\w.]{0,120}(?:Error|Exception|Interrupt|Exit|Timeout|Expired)\b|Traceback \()"
)


def says_exception(text: str) -> bool:
    """Whether a text has a line that begins with the class of an exception, or with the head of a traceback."""
    return _EXCEPTION.search(text) is not None


def errors_in(parts: List[Dict[str, Any]]) -> List[str]:
    """The tracebacks and errors of a record, each as a text of one or more lines."""
    parts = [*parts, *(part[name] for part in parts for name in NESTED if isinstance(part.get(name), dict))]
    parts += [part["extraInfo"] for part in parts if isinstance(part.get("extraInfo"), dict)]
    told = [text for part in parts for name in TRACEBACKS for text in _traceback(part.get(name))]
    for part in parts:
        for name in ERRORS:
            error = part.get(name)
            if isinstance(error, str) and error.strip() and not any(error.strip() in text for text in told):
                told.append(error)
    return told


def _traceback(value: Any) -> Iterator[str]:
    """A traceback as one text, as a list of its lines, or as structlog's list of exceptions, whose cause comes last."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list) and value and all(isinstance(line, str) for line in value):
        yield "\n".join(line.rstrip("\n") for line in value)
    elif isinstance(value, list):
        for one in reversed(value):
            if isinstance(one, dict) and isinstance(one.get("exc_type"), str):
                yield "\n".join(_structlog(one))


def _structlog(one: Dict[str, Any]) -> Iterator[str]:
    frames = one.get("frames")
    if isinstance(frames, list) and frames:
        yield "Traceback (most recent call last):"
        for frame in frames:
            if isinstance(frame, dict):
                yield f'  File "{frame.get("filename")}", line {frame.get("lineno")}, in {frame.get("name")}'
                if isinstance(frame.get("line"), str) and frame["line"].strip():
                    yield "    " + frame["line"].strip()
    yield f"{one['exc_type']}: {one.get('exc_value')}"
