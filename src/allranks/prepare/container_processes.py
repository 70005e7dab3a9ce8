"""What lives in a container besides its first process: asked inside, and put into words."""

from __future__ import annotations

from collections.abc import Sequence

LIVING = """
import json, os
own, found = {os.getpid(), os.getppid(), 1}, []
for name in os.listdir("/proc"):
    if name.isdigit() and int(name) not in own:
        try:
            with open("/proc/%s/comm" % name, encoding="utf-8", errors="replace") as file:
                found.append([int(name), file.read().strip()])
        except OSError:
            pass
print(json.dumps(sorted(found)))
"""
"""Run inside: the processes that live there besides its first and this one, as (pid inside, name)."""


def described(living: Sequence[tuple[int, str]], most: int = 3) -> str:
    """`2 processes live (sleep, python)`."""
    names = list(dict.fromkeys(name for _, name in living))
    shown = ", ".join([*names[:most], *(["…"] if len(names) > most else [])])
    return f"{len(living)} processes live ({shown})" if len(living) > 1 else f"a process lives ({shown})"
