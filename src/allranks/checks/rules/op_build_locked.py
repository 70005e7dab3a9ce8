"""A lock of a compiled operator is left behind, and every run that needs the operator waits for it.

## How it is found
The files named `lock` below the folder of compiled operators on every node, and which process has each of them open.
The folder is `TORCH_EXTENSIONS_DIR`, else the one that allranks gives this training environment. On shared storage, the
processes of all nodes.

## Why it matters
torch lets one process compile an extension, and all others wait until its lock is gone: without a time-out and
without a line in any log. A builder that was killed (out of memory, a stopped run, a reboot) leaves the lock, and
from then on every run stands still in `loading`, even if the operator has been compiled long ago.

## What to do
If no process has it open, remove the file: the operator is then built again. If a process has it open, that
process is compiling: wait for it, unless it has compiled for an hour. On shared storage look first whether a
machine outside of this run compiles.

## Source
torch 2.13 `utils/file_baton.py` (`wait` has no limit) and `utils/cpp_extension.py` (`_jit_compile`);
DeepSpeed 0.19 `ops/op_builder/builder.py` loads its operators through it.

Topic: software
"""

from __future__ import annotations

from collections.abc import Mapping
from shlex import quote
from typing import Any

from allranks.checks.context import Context, Findings, View, on_host
from allranks.checks.filesystems import SHARED
from allranks.checks.rules.port_held import holder_text
from allranks.core import Finding
from allranks.core.quantities import in_seconds
from allranks.core.untrusted import listing, mapping, number
from allranks.plan.operators import operators
from allranks.plan.versions import parse

NEEDS = ("extensions.locks",)
UNKNOWN_BLOCKS = False
applies = on_host

LONG_SECONDS = 3600.0
"""DeepSpeed's largest CUDA operators take some ten minutes on a few processors."""


def check(context: Context) -> Findings:
    busy = {
        lock.get("path")
        for view in context.machines
        for lock in view.maps("extensions.locks")
        if listing(lock.get("held_by")) and lock.get("type") in SHARED
    }
    for view in context.machines:
        for lock in view.maps("extensions.locks"):
            if not isinstance(lock.get("path"), str) or not of_this_python(view, lock):
                continue
            if listing(lock.get("held_by")):
                yield from slow(context, view, lock)
            elif lock.get("path") not in busy:
                yield stale(context, view, lock)


def slow(context: Context, view: View, lock: Mapping[str, Any]) -> Findings:
    """A builder that lives and has been at it for longer than any build takes."""
    age, holder = number(lock.get("age_seconds")), mapping(listing(lock.get("held_by"))[0])
    if age is None or age < LONG_SECONDS:
        return
    run = holder.get("run")
    yield context.warn(
        view,
        saw=f"{lock['path']} on {view.name}, a lock {in_seconds(age)} old, {holder_text(holder)}",
        expected=f"a build of less than {in_seconds(LONG_SECONDS)}",
        why=f"every rank that needs {lock.get('name')} waits for that process, which hangs by all appearance.",
        fix=f"allranks stop {run}"
        if run
        else f"look at pid {holder.get('pid')} on {view.name}: it is its owner's",
    )


def of_this_python(view: View, lock: Mapping[str, Any]) -> bool:
    """Whether the training environment's Python builds there: torch's own folders are named `py311_cu128`."""
    build, python = lock.get("build"), parse(view.text("software.python.version"))
    if not isinstance(build, str) or not build.startswith("py") or python is None or len(python) < 2:
        return True
    return build.partition("_")[0].rstrip("t") == f"py{python[0]}{python[1]}"


def stale(context: Context, view: View, lock: Mapping[str, Any]) -> Finding:
    path, name = str(lock["path"]), str(lock.get("name"))
    needed = name in operators(context.run, context.deepspeed)
    age = number(lock.get("age_seconds"))
    old = f", {in_seconds(age)} old" if age is not None else ""
    shared = lock.get("type") in SHARED
    if lock.get("sure"):
        who = "and no process of this run's nodes has it open" if shared else "and no process has it open"
    else:
        who = f"made by uid {lock.get('uid')}, whose processes cannot be looked at"
    say = context.block if needed and lock.get("sure") else context.warn
    return say(
        view,
        saw=f"{path} on {view.name} is a lock{old}, {who}",
        expected="no lock, or one that a living process holds",
        why=f"every rank that needs {name} would wait for it forever, without a message"
        + (": this run does." if needed else "; whether this run does is not certain."),
        fix=f"rm {quote(path)}"
        + (", once no other machine compiles there" if shared else f" on {view.name}"),
    )
