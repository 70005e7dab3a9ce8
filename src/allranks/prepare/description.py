"""The description of a node's container, and its digest, which shows whether an existing container still fits. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

LABEL = "org.allranks"
"""The prefix of allranks' labels: `.home` (the owner's allranks home), `.node`, `.run` (the run that made it) and
`.description`."""

OURS = ("name", "label", "entrypoint", "rm", "detach", "restart", "pull", "cidfile", "pid", "init")
"""Options of the engine that `container.extra` may not set: allranks needs them to recognize and end its containers."""


USER_HOME = "container-home"
"""A folder of the allranks home: the home folder, inside the container, of a user who is not root."""

WRITABLE = ("runs", "cache", "code", USER_HOME)
"""Folders of the allranks home that a container may write to. They hold all runs, because a container outlives its run
and serves the next run of the same name."""


@dataclass(frozen=True)
class Mount:
    """A folder of the node that training sees. `options` are the words after the second colon."""

    source: str
    target: str
    options: tuple[str, ...] = ()

    @classmethod
    def read(cls, text: str, user_home: str) -> Mount:
        source, target, *options = text.split(":")
        if source == "~" or source.startswith("~/"):
            source = user_home.rstrip("/") + source[1:]
        return cls(source, target, tuple(word for part in options for word in part.split(",") if word))


@dataclass(frozen=True)
class Description:
    """The container that a run wants. `image` is a digest or an id, never a tag; `user` is `uid:gid`.

    `home` is the node's allranks home. It is mounted at the same path, so run directories and the bundle have the same
    path inside and outside. Inside, only its `WRITABLE` folders can be written to: an image cannot change the bundle
    and the environments, which the node uses outside the container. `form` is increased whenever allranks makes
    containers in a new way, so that older containers are replaced.
    """

    engine: str
    image: str
    name: str
    node: str
    home: str
    user: str
    user_name: str = "allranks"
    groups: tuple[int, ...] = ()
    mounts: tuple[Mount, ...] = ()
    shm_bytes: int | None = None
    gpus: bool = False
    infiniband: bool = False
    python: str = "python3"
    pip: tuple[str, ...] = ()
    wheels: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    form: int = 2

    def home_mounts(self) -> list[Mount]:
        """The mounts of the home, which is read-only, and of the folders in it that a run writes to."""
        inner = [f"{self.home}/{name}" for name in WRITABLE]
        return [Mount(self.home, self.home, ("ro",)), *(Mount(path, path) for path in inner)]

    def digest(self) -> str:
        """Equal for equal descriptions; if it changes, the container is made again."""
        text = json.dumps(asdict(self), sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def option(self, name: str) -> list[Any]:
        """The values of an option in `extra`, under its name with or without dashes; none if it is not set."""
        for key, value in self.extra.items():
            if str(key).lstrip("-") == name:
                return list(value) if isinstance(value, list | tuple) else [value]
        return []


def container_name(run_name: str, node: str, home: str) -> str:
    """A short name for each run file, node and user: its last part is a digest that includes the home."""
    mark = hashlib.sha256(f"{home}\0{run_name}\0{node}".encode()).hexdigest()[:8]
    return f"allranks-{run_name[:40]}-{node[:40]}-{mark}"
