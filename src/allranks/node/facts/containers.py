"""The container engine that the run names: whether it is there and answers this user."""

from __future__ import annotations

import re
from typing import Any, Dict, Mapping, Optional

from allranks.node.facts import _commands
from allranks.node.facts._reading import Reading, Unreadable

ENGINES = ("docker", "podman", "apptainer", "singularity")
DAEMONS = ("docker",)
"""Engines whose program only speaks to a service, which may be stopped or refuse this user."""


def read(request: Mapping[str, Any], reading: Reading) -> None:
    name = str(request.get("engine") or "")
    if name not in ENGINES:
        reading.put("engine", None)
        return
    reading.fact("engine", lambda: engine(name))


def engine(name: str) -> Dict[str, Any]:
    """`name`, `path` (None if it is not installed), `version`, and `trouble` where it does not answer."""
    path = _commands.which_anywhere(name)
    if path is None:
        return {"name": name, "path": None, "version": None, "trouble": None}
    try:
        done = _commands.run([path, "--version"], 5.0)
        trouble = None if done.code == 0 else done.first_line
        version = version_in(done.out)
        if trouble is None and name in DAEMONS:
            asked = _commands.run([path, "version", "--format", "{{.Server.Version}}"], 8.0)
            trouble = None if asked.code == 0 else asked.first_line
    except Unreadable as error:
        return {"name": name, "path": path, "version": None, "trouble": str(error)}
    return {"name": name, "path": path, "version": version, "trouble": trouble}


def version_in(said: str) -> Optional[str]:
    match = re.search(r"(?<!\d)(\d+\.\d+(?:\.\d+)?)", said)
    return match.group(1) if match else None
