"""Runs scripts of allranks in the training environment's Python. They do not import the training libraries."""

from __future__ import annotations

import json
import os
from typing import Any, Dict, List, Mapping, Optional

from allranks.core.text import last_line
from allranks.node.facts import _commands
from allranks.node.facts._reading import Unreadable
from allranks.node.spawn import INHERITED

ASK_SECONDS = 20.0
"""A Python on a cold network filesystem has been seen to start in 10 s."""


def python_of(request: Mapping[str, Any]) -> str:
    python = request.get("python")
    if not python:
        raise Unreadable("the request names no Python")
    return os.path.expanduser(str(python))


def environment(request: Mapping[str, Any]) -> Dict[str, str]:
    """The ranks' future variables: the node's basic ones, then the plan's."""
    found = {n: v for n, v in os.environ.items() if n in INHERITED or n.startswith("LC_")}
    asked = request.get("env")
    if isinstance(asked, Mapping):
        found.update({str(name): str(value) for name, value in asked.items()})
    folder = os.path.dirname(python_of(request))
    if folder and not (isinstance(asked, Mapping) and "PATH" in asked):
        # As the supervisor does: its own programs (ninja) are found before the system's.
        found["PATH"] = folder + os.pathsep + found.get("PATH", _commands.SYSTEM_PATH)
    return found


def run_python(
    request: Mapping[str, Any],
    script: str,
    words: List[str],
    seconds: float = ASK_SECONDS,
    stdin: bytes = b"",
) -> Dict[str, Any]:
    """The last JSON object that `script` printed; warnings of libraries before it do not matter.

    Raises `Unreadable` with that Python's message otherwise.
    """
    python = python_of(request)
    done = _commands.run([python, "-c", script, *words], seconds, environment(request), cwd="/", stdin=stdin)
    answer = last_object(done.out)
    if answer is None:
        raise Unreadable(f"{python} ended with code {done.code}: {last_line(done.err) or done.first_line}")
    return answer


def last_object(output: str) -> Optional[Dict[str, Any]]:
    for row in reversed(output.splitlines()):
        try:
            value = json.loads(row)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            return value
    return None
