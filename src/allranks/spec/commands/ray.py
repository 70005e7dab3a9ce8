"""`ray job submit`: the cluster, its folder and its variables (Ray 2.5x, `ray/dashboard/modules/job/cli.py`)."""

from __future__ import annotations

import json
from typing import Any

from allranks.core import NOTE
from allranks.spec.commands._command import Command, Form, Option, each, key, own, refused
from allranks.spec.commands._words import Unknown
from allranks.spec.problems import Wrong, shown


def address(command: Command, value: str, said: str) -> None:
    if not isinstance(value, Unknown):
        command.put("launch.address", value.partition("://")[2].rstrip("/") or value, said)


def runtime(command: Command, value: str, said: str) -> None:
    """`--runtime-env-json`: variables, the folder; packages belong to the environment."""
    try:
        found = json.loads(value)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise Wrong(
            f"{shown(said)}: it is not a JSON object.", do='such as {"env_vars": {"NCCL_DEBUG": "INFO"}}'
        )
    take(command, found, said)


def runtime_file(command: Command, value: str, said: str) -> None:
    from allranks.spec.problems import Problems
    from allranks.spec.tree import plain
    from allranks.spec.yaml12 import parse

    tree = parse(command.reads(command.here(value)), value, Problems())
    found = plain(tree) if tree is not None else {}
    if not isinstance(found, dict):
        raise Wrong(f"{shown(said)}: it has no keys.", do="a runtime environment of Ray")
    take(command, found, said)


def take(command: Command, found: dict[str, Any], said: str) -> None:
    for name, value in (found.pop("env_vars", None) or {}).items():
        command.variable(str(name), str(value), said)
    folder = found.pop("working_dir", None)
    if folder and "://" not in str(folder):
        command.put("code", str(folder), said)
    found.pop("excludes", None)
    for name in found:
        command.left_out(
            f"{said.split()[0]}: {name}",
            "packages are installed before the run.",
            "environment: {lock: …}, or container: {pip: […]}",
        )


OPTIONS = {
    "address": Option(1, address),
    "working-dir": key("code"),
    "runtime-env": Option(1, runtime_file),
    "runtime-env-json": Option(1, runtime),
    "no-wait": Option(
        0, lambda c, v, s: c.left_out(s, "it is an option of allranks.", "allranks run --detach")
    ),
    **each("submission-id job-id metadata-json headers verify log-style log-color", own()),
    **each("entrypoint-num-cpus entrypoint-num-gpus entrypoint-memory entrypoint-resources", own()),
    "entrypoint-label-selector": own(),
    **each("v verbose", own(0)),
    "no-verify": refused("the cluster's certificate is checked.", "leave it out"),
}


def read(command: Command) -> None:
    command.put("launch.with", "ray", "ray job submit")
    if "launch.address" not in command.keys and command.environ.get("RAY_ADDRESS"):
        address(command, command.environ["RAY_ADDRESS"], "RAY_ADDRESS")
    command.note(
        "launcher-dropped",
        NOTE,
        "ray job submit would start the command once, on the head.",
        "allranks starts it as the ranks of a torchrun on each node; a script that calls ray.init or Ray Train would "
        "start ranks of its own in each of them.",
        "for such a script ray job submit itself",
    )


FORM = Form(
    programs=("ray",),
    options=OPTIONS,
    task=("job", "submit"),
    example="ray job submit -- python train.py",
    read=read,
)
