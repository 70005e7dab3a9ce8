"""The script starts ranks by itself, and does not look whether torchrun has started it.

## How it is found
Calls of `mp.spawn` (torch.multiprocessing) and `ray.init` in the training script. If the script also names a variable
of torchrun (`LOCAL_RANK`, `TORCHELASTIC_RUN_ID`), or asks `is_torchelastic_launched`, allranks assumes that it handles
both ways. A call in an `if args.NAME:` is ignored if `--NAME` is a switch (`action="store_true"`) that the
command does not give and that the script does not set itself.

## Why it matters
allranks starts the script once for each rank. Each of these would start ranks of its own, which wait for one another at
one address: by hand, under torchrun, the script hangs in the same way.

## What to do
Start the function that is spawned with `LOCAL_RANK` and `RANK` in place of the spawned index, and without the call.
With Ray, `launch: {with: ray}` starts the ranks, and the script needs no `ray.init`.

## Source
PyTorch documentation, "torchrun (Elastic Launch)" and "Multiprocessing: spawning subprocesses".

Topic: settings
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from allranks.checks import scripts
from allranks.checks.context import Context, Findings
from allranks.core import Where

UNKNOWN_BLOCKS = False
applies = scripts.applies

STARTS = {"spawn": ("mp", "multiprocessing"), "init": ("ray",)}
"""The call's last name, and the names that it is called on."""

OF_TORCHRUN = frozenset(("LOCAL_RANK", "TORCHELASTIC_RUN_ID", "is_torchelastic_launched"))


def check(context: Context) -> Findings:
    found = scripts.seen(context)
    if found is None or any(name in OF_TORCHRUN for name in names(found[1])):
        return
    unreached = set(off(found[1], context.run.train.command))
    for call in scripts.calls(found[1], *STARTS):
        if call in unreached:
            continue
        called = ast.unparse(call.func)
        on = called.split(".")[-2:-1]
        if not on or on[0] not in STARTS[scripts.called(call)]:
            continue
        yield context.warn(
            Where(file=scripts.path_of(context), line=call.lineno),
            saw=f"{called}() starts ranks by itself",
            expected="one process per rank, which torchrun starts",
            why="every rank would start ranks of its own, and they would wait for one another.",
            fix="call the function itself, with LOCAL_RANK and RANK from the environment",
        )


def names(tree: ast.AST) -> Iterator[str]:
    """All texts and names of the script."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.Name):
            yield node.id


def off(tree: ast.AST, command: Sequence[str]) -> Iterator[ast.AST]:
    """The code in each `if args.NAME:` of a switch that the command leaves off."""
    attributes = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    changed = {node.attr for node in attributes if isinstance(node.ctx, ast.Store)}
    # argparse accepts the beginning of a name
    given = tuple(word[2:].replace("-", "_") for word in command if word.startswith("--"))
    unset = {name for name in switches(tree) if name not in changed and not any(map(name.startswith, given))}
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Attribute) and node.test.attr in unset:
            for line in node.body:
                yield from ast.walk(line)


def switches(tree: ast.AST) -> Iterator[str]:
    """The names, as argparse's result has them, of `add_argument("--NAME", action="store_true")` without a `dest`."""
    for call in scripts.calls(tree, "add_argument"):
        keys = {key.arg: key.value for key in call.keywords}
        action = keys.get("action")
        if "dest" in keys or not isinstance(action, ast.Constant) or action.value != "store_true":
            continue
        for word in call.args:
            if isinstance(word, ast.Constant) and str(word.value).startswith("--"):
                yield str(word.value)[2:].replace("-", "_")
