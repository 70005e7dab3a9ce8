"""The script calls a collective on some ranks only.

## How it is found
Calls that all ranks must make together (a DeepSpeed save, a barrier, a reduction), but that the training script
makes under a condition on the rank, or in an `except` clause.

## Why it matters
The ranks that make the call wait for those that do not, until the time-out. An emergency save in `except`, as in many
guides, is such a call: the rank that failed waits in it for ranks that are still in another collective, and hides the
error behind a hang.

## What to do
Let all ranks call it and only rank 0 write; in `except` print the error and raise it again.

## Source
DeepSpeed documentation, `save_checkpoint`: "all processes must call this method"; torch.distributed.

Topic: settings
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from allranks.checks import scripts
from allranks.checks.context import Context, Findings
from allranks.core import Where

UNKNOWN_BLOCKS = False
applies = scripts.applies


def check(context: Context) -> Findings:
    found = scripts.seen(context)
    if found is None or context.run.cluster.world_size < 2:
        return
    told: set[int] = set()
    for node in ast.walk(found[1]):
        if isinstance(node, ast.ExceptHandler):
            place, bodies = "in an except clause", [node.body]
        elif isinstance(node, ast.If) and scripts.asks_rank(node.test):
            place, bodies = f"under `if {ast.unparse(node.test)}`", [node.body]
        else:
            continue
        for call in collectives(bodies):
            if call.lineno not in told:
                told.add(call.lineno)
                yield context.warn(
                    Where(file=scripts.path_of(context), line=call.lineno),
                    saw=f"{scripts.called(call)}() {place}",
                    expected="a call that all ranks make",
                    why="the ranks that call it wait for those that do not, until the time-out.",
                    fix="let all ranks call it; in except, print the error and raise it again",
                )


def collectives(bodies: list[list[ast.stmt]]) -> Iterator[ast.Call]:
    for body in bodies:
        for statement in body:
            yield from scripts.calls(statement, *scripts.COLLECTIVES)
