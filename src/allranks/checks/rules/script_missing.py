"""The training script is not on a node, or is not Python.

## How it is found
The script of `train.command` on every node, or in the folder of `code` on this machine.

## Why it matters
torchrun starts and its ranks end at once with "can't open file"; the other nodes wait for 600 s.

## What to do
Write its absolute path, or let `code:` ship its folder to every node.

## Source
The node's own file; Python's own parser.

Topic: storage
"""

from __future__ import annotations

import ast

from allranks.checks import scripts
from allranks.checks.context import Context, Findings
from allranks.checks.fact_request import shipped
from allranks.core import UNKNOWN
from allranks.core.untrusted import mapping

ID = "script-missing"
NEEDS = ("storage.files",)


def applies(context: Context) -> bool:
    path = scripts.path_of(context)
    return scripts.applies(context) and (path.startswith(("/", "~")) or path in shipped(context.run))


def check(context: Context) -> Findings:
    path = scripts.path_of(context)
    if path in shipped(context.run):
        yield from of_shipped(context, path)
        return
    others = len(context.machines) > 1
    for view in context.machines:
        state = mapping(view.map("storage.files").get(path))
        if state.get("exists") is False:
            if is_module(context):
                continue
            saw, fix = (
                f"{path} is not on {view.name}",
                "correct the path, or let `code: FOLDER` send the script's folder to every node",
            )
        elif isinstance(state.get("text"), str) and (trouble := syntax(state["text"])):
            saw, fix = f"{path} on {view.name} is not Python: {trouble}", "correct it"
        else:
            continue
        yield context.block(
            view,
            key="train.command",
            saw=saw,
            expected="the script on every node",
            why="its ranks would end at once" + (", and the other nodes wait for 600 s." if others else "."),
            fix=fix,
        )


def is_module(context: Context) -> bool:
    """Whether `-m` starts it: then it may be installed in the environment as well."""
    return context.run.train.command[:1] == ("-m",)


def of_shipped(context: Context, path: str) -> Findings:
    """The script is in `code` on this machine, once for all nodes."""
    files = context.machines[0].map("storage.files") if context.machines else {}
    for one in shipped(context.run):
        if reason := mapping(files.get(one)).get("unread"):
            yield context.say(
                UNKNOWN,
                "train.command",
                saw=f"{one} cannot be read: {reason}",
                expected="files of code that this user may read",
                why="nobody has looked for mistakes in it, and it could not be shipped.",
                fix=f"ls -l {one}",
            )
    state = mapping(files.get(path))
    if state.get("exists") is False and is_module(context):
        return
    if state.get("exists") is False:
        saw, fix = (
            f"{path} is not there, and so not in the code that is shipped",
            "the script's path inside code",
        )
    elif isinstance(state.get("text"), str) and (trouble := syntax(state["text"])):
        saw, fix = f"{path} is not Python: {trouble}", "correct it"
    else:
        return
    yield context.block(
        "train.command",
        saw=saw,
        expected="the script in the code that every node gets",
        why="its ranks would end at once.",
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
