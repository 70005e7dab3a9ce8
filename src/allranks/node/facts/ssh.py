"""Whether this node reaches others over SSH without being asked anything, as pdsh and mpirun need it."""

from __future__ import annotations

from typing import Any, Dict, Mapping

from allranks.node.facts import _commands, _reader_processes
from allranks.node.facts._reading import Reading, why

ASKED, NOTHING = "ssh", {"reached": {}}
SECONDS = 30.0
CONNECT_SECONDS = 5
LOGIN_SECONDS = 20
"""A connection is there within a round trip or not at all; a login on a busy node waits for its processors."""


def read(request: Mapping[str, Any], reading: Reading) -> None:
    asked = request.get("ssh")
    targets = {str(k): str(v) for k, v in asked.items()} if isinstance(asked, Mapping) else {}
    reading.fact("reached", lambda: reached(targets))


def reached(targets: Mapping[str, str]) -> Dict[str, Any]:
    """Node → None if a command ran there, else the reason. Host keys are neither accepted nor stored."""
    answers = _reader_processes.calls(
        {name: _asker(address) for name, address in targets.items()}, LOGIN_SECONDS + 3
    )
    found: Dict[str, Any] = {}
    for name, answer in answers.items():
        try:
            found[name] = answer()
        except Exception as error:
            found[name] = why(error)
    return found


def _asker(address: str) -> Any:
    options = [
        "BatchMode=yes",
        "StrictHostKeyChecking=yes",
        f"ConnectTimeout={CONNECT_SECONDS}",
        "LogLevel=ERROR",
    ]
    argv = ["ssh", *(word for option in options for word in ("-o", option)), "--", address, "true"]

    def log_in() -> Any:
        done = _commands.run(argv, LOGIN_SECONDS)
        return None if done.code == 0 else done.first_line

    return log_in
