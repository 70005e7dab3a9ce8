"""The training script is not on a node, or is no Python.

## What it looks at
The script of `train.command` on every node.

## Why it matters
torchrun starts and its ranks end at once with "can't open file"; the other nodes wait for 600 s.

## What to do
Write its absolute path, or let `code:` ship its folder to every node.

## Source
The node's own file; Python's own parser.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from allranks.checks import scripts
from allranks.checks.case import fires, silent
from allranks.checks.context import Context, mapping
from allranks.words import Finding

NEEDS = ("storage.files",)


def applies(context: Context) -> bool:
    # A folder that is shipped arrives after the checks.
    return (
        scripts.applies(context) and not context.run.code and scripts.path_of(context).startswith(("/", "~"))
    )


def check(context: Context) -> Iterator[Finding]:
    path = scripts.path_of(context)
    for view in context.machines:
        state = mapping(view.map("storage.files").get(path))
        if state.get("exists") is False:
            saw, fix = (
                f"{path} is not on {view.name}",
                "code: the script's folder, which is shipped to every node",
            )
        elif isinstance(state.get("text"), str) and (trouble := syntax(state["text"])):
            saw, fix = f"{path} on {view.name} is no Python: {trouble}", "correct it"
        else:
            continue
        yield context.block(
            view,
            key="train.command",
            saw=saw,
            expected="the script on every node",
            why="its ranks would end at once, and the other nodes wait for 600 s.",
            fix=fix,
        )


def syntax(text: str) -> str | None:
    try:
        ast.parse(text)
    except SyntaxError as error:
        return f"line {error.lineno}: {error.msg}"
    except (ValueError, RecursionError, MemoryError) as error:
        return str(error) or type(error).__name__
    return None


FILE = ("*", "storage", "files", "/opt/train.py")
COMMAND = {
    "run/train/kind": "command",
    "run/train/command": ("/opt/train.py",),
    "run/train/arguments": {},
    "run/gpus/model": "cpu",
}
CASES = (
    fires("cpu", {**COMMAND, FILE: {"exists": False}}, node="node-1", verdict="block", saw="is not on"),
    fires("cpu", {**COMMAND, FILE: {"exists": True, "text": "def f(:\n"}}, saw="is no Python: line 1"),
    silent("cpu", {**COMMAND, FILE: {"exists": True, "text": "print(1)\n"}}),
    silent("cpu"),
)
