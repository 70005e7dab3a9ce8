"""The known host keys: each file that ssh reads is parsed once for all nodes of a verb.

asyncssh would parse all lines of a file again for every connection: 100 nodes and 100 lines make 10,000 keys.
"""

from __future__ import annotations

import contextlib
import functools
import getpass
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import asyncssh
from asyncssh.config import SSHClientConfig

USER_FILES = ("~/.ssh/known_hosts", "~/.ssh/known_hosts2")
GLOBAL_FILES = ("/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2")
"""ssh_config(5): the defaults of UserKnownHostsFile and GlobalKnownHostsFile."""


def config_paths(given: Sequence[str] | None) -> list[str]:
    """The ssh configuration files: those given, else the user's own if it can be read."""
    if given is not None:
        return list(given)
    default = Path("~/.ssh/config").expanduser()
    return [str(default)] if os.access(default, os.R_OK) else []


def settings_of(paths: Sequence[str], address: str, user: str | None, port: int | None) -> SSHClientConfig:
    """The entries of these files for one host. Raises OSError and ValueError."""
    asked = (local_user(), user or (), address, port or ())
    return SSHClientConfig.load(None, list(paths), False, False, False, *asked)  # type: ignore[arg-type]


@functools.lru_cache(maxsize=1)
def local_user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        raise ValueError("who you are is unknown here: set LOGNAME") from None


@dataclass
class HostKeys:
    """The known hosts, and whether an unknown key may be pinned at first sight."""

    accept_new: bool = False
    _read: dict[tuple[Path, ...], asyncssh.SSHKnownHosts] = field(default_factory=dict)

    def of(self, settings: SSHClientConfig) -> KnownHere:
        """The known keys under these ssh settings."""
        user = files(settings.get("UserKnownHostsFile"), USER_FILES)
        every = (*user, *files(settings.get("GlobalKnownHostsFile"), GLOBAL_FILES))
        if every not in self._read:
            self._read[every] = read(every)
        return KnownHere(self._read[every], user[0] if user else None, self.accept_new)


@dataclass(frozen=True)
class KnownHere:
    """The known host keys for one node; `own` is the file that a new key is written to."""

    store: asyncssh.SSHKnownHosts
    own: Path | None
    accept_new: bool

    def knows(self, host: str, port: int | None) -> bool:
        """Whether there is a key for the host already, in any file, under the name that a new one would get.

        asyncssh would also take a key of the same host at port 22, or one of a host that had this address before."""
        return bool(self.store.match(name_of(host, port), "", None)[0])

    def pin(self, host: str, port: int, key: asyncssh.SSHKey) -> None:
        """Appends the key; the file is made readable for its owner alone."""
        line = f"{name_of(host, port)} {key.export_public_key().decode().strip()}\n"
        self.store.load(line)
        if self.own is None:
            return
        self.own.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(self.own, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(handle, "a", encoding="ascii") as file:
            file.write(line if ends_with_a_line(self.own) else "\n" + line)


def name_of(host: str, port: int | None) -> str:
    """A host as known_hosts names it."""
    return host if port in (None, 22) else f"[{host}]:{port}"


def ends_with_a_line(file: Path) -> bool:
    """Whether a file is empty or its last line is whole: an entry must not be glued to another one."""
    with open(file, "rb") as content:
        size = content.seek(0, os.SEEK_END)
        content.seek(max(0, size - 1))
        return content.read(1) in (b"", b"\n")


def files(said: Any, default: Sequence[str]) -> tuple[Path, ...]:
    """The files of one setting. With `none` the list is empty: then every key is unknown, and allranks never trusts
    an unknown key unasked."""
    return tuple(Path(name).expanduser() for name in (default if said is None else said))


def read(paths: Sequence[Path]) -> asyncssh.SSHKnownHosts:
    """The keys from all lines of these files that can be parsed; ssh skips the other lines, too."""
    store = asyncssh.SSHKnownHosts()
    for path in paths:
        try:
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            continue
        for line in lines:
            with contextlib.suppress(ValueError):
                store.load(line)
    return store
