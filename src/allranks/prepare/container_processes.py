"""The processes in a container besides its first one: a program that lists them inside, and a text for messages."""

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
"""A program that runs inside and prints the processes there, without the first one, itself and its parent, as a list of
[pid inside, name]."""


def described(living: Sequence[tuple[int, str]], most: int = 3) -> str:
    """`2 processes live (sleep, python)`."""
    names = list(dict.fromkeys(name for _, name in living))
    shown = ", ".join([*names[:most], *(["…"] if len(names) > most else [])])
    return f"{len(living)} processes live ({shown})" if len(living) > 1 else f"a process lives ({shown})"
