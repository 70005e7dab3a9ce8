"""The rank's own log: stdout and stderr go to `rank-<R>.log`, line by line, and a full disk does not disturb the
training.

`print` on a full disk raises OSError and would end a training that has nothing to do with that disk. So Python's two
streams get a lowest layer that drops text that cannot be written. The output of native code goes to the same file
through the same descriptors.
"""

from __future__ import annotations

import io
import os
import sys

from allranks.worker.rank_identity import RankIdentity

TYPE_CHECKING = False  # typing costs a start 5 ms; type checkers take this for theirs
if TYPE_CHECKING:
    from typing import Any, List

_KEPT: List[Any] = []
"""The streams that were replaced. If they were collected they would close descriptors 1 and 2."""


class Patient(io.FileIO):
    """A descriptor whose writes never fail: a full disk loses lines, and the next ones are written again."""

    def write(self, data: Any) -> Any:
        try:
            return super().write(data)
        except OSError:
            return memoryview(data).nbytes


def redirect(place: RankIdentity) -> None:
    """Puts descriptors 1 and 2 onto the rank's log. Raises OSError if it cannot be opened."""
    if place.logs is None:
        return
    path = os.path.join(place.logs, f"rank-{place.rank}.log")
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(path, flags, 0o600)
    for name in ("stdout", "stderr"):
        flush(name)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    os.close(descriptor)
    for name, number in (("stdout", 1), ("stderr", 2)):
        replace(name, number)


def flush(name: str) -> None:
    try:
        getattr(sys, name).flush()
    except (AttributeError, OSError, ValueError):
        pass  # closed, missing, or its reader is gone: there is nothing to save


def replace(name: str, number: int) -> None:
    """A stream like the one that Python made, over a patient descriptor, written at each line's end."""
    old = getattr(sys, name, None)
    if old is None or getattr(old, "fileno", None) is None or old.fileno() != number:
        return
    raw = Patient(number, "wb", closefd=False)
    raw.name = f"<{name}>"
    new = io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=old.encoding,
        errors=old.errors,
        newline="\n",
        line_buffering=True,
        write_through=getattr(old, "write_through", False),
    )
    new.mode = "w"  # type: ignore[attr-defined]  # as Python's own streams have it
    _KEPT.append(old)
    setattr(sys, name, new)
    if getattr(sys, f"__{name}__", None) is old:
        setattr(sys, f"__{name}__", new)
