"""`conda run -n sft torchrun train.py`: the Python of a conda environment, which each node finds by its name."""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from typing import Any

from allranks.spec import launchers
from allranks.spec.commands._command import Command, Form, Option, each, no_script, own, refused

PROGRAMS = ("conda", "mamba", "micromamba")


def use(command: Command, target: str, said: str) -> None:
    """The environment of this name, or in this folder if there is a `/` in it."""
    if "/" in target:
        use_folder(command, target, said)
    else:
        command.put("environment.conda", target, said)


def use_folder(command: Command, target: str, said: str) -> None:
    command.put("environment.python", posixpath.join(command.here(target), "bin", "python"), said)


def settle(command: Command, said: Callable[[str], Any]) -> None:
    """Leaves the environment out if something else names the Python, or if a launcher needs its path. `said` returns
    what the run file has for a dotted key."""
    if "environment.conda" not in command.keys:
        return
    others = ("environment.python", "environment.lock", "container")
    told = next((key for key in others if key in command.keys or said(key) is not None), None)
    launch = getattr(said("launch.with"), "raw", None) or command.keys.get("launch.with")
    if told is not None:
        why, fix = f"{told} names the Python that trains.", "one of the two"
    elif launch in launchers.names() and launchers.find(str(launch)).starts_python:
        why, fix = f"{launch} starts the environment's Python by its path.", "environment: {python: the path}"
    else:
        return
    del command.keys["environment.conda"]
    command.left_out(command.said["environment.conda"], why, fix)


def read(command: Command) -> None:
    if not command.words:
        raise no_script()


FORM = Form(
    programs=PROGRAMS,
    options={
        **each("n name", Option(1, use)),
        **each("p prefix", Option(1, use_folder)),
        **each("no-capture-output live-stream capture-output v debug-wrapper-scripts", own(0)),
        "cwd": refused("the ranks start in the run's own folder.", "train: {workdir: the folder}", takes=1),
    },
    task=("run",),
    example="conda run -n sft train.py",
    read=read,
)
