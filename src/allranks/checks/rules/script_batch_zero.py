"""The script's batch arithmetic gives 0 at this number of ranks.

## How it is found
Products with `world_size // N` in the training script, with N larger than the run's number of ranks.

## Why it matters
`128 * (world_size // 8)`, which guides recommend to "scale with nodes", is 0 below 8 ranks: DeepSpeed then ends
with "Train batch size: 0 has to be greater than 0". If the number of ranks is not a multiple of N, it rounds down
without a message.

## What to do
`samples_a_rank * world_size`, or leave `train_batch_size` out: DeepSpeed computes it.

## Source
DeepSpeed 0.19 `runtime/config.py` `_batch_assertion`.

Topic: settings
"""

from __future__ import annotations

import ast

from allranks.checks import scripts
from allranks.checks.context import Context, Findings
from allranks.core import Where

UNKNOWN_BLOCKS = False
applies = scripts.applies


def check(context: Context) -> Findings:
    found = scripts.seen(context)
    if found is None:
        return
    _, tree = found
    ranks = context.run.cluster.world_size
    for node in ast.walk(tree):
        divisor = divided(node)
        if divisor is None or ranks % divisor == 0:
            continue
        say = context.block if ranks < divisor else context.warn
        result = ranks // divisor
        yield say(
            Where(file=scripts.path_of(context), line=getattr(node, "lineno", None)),
            saw=f"{ast.unparse(node)} is {result} at {ranks} ranks",
            expected=f"a number of ranks that {divisor} divides, or other arithmetic",
            why="DeepSpeed ends with: train batch size 0 has to be greater than 0."
            if result == 0
            else f"it rounds down: {ranks - result * divisor} ranks are not counted.",
            fix="samples_a_rank * world_size, or leave train_batch_size out",
        )


def divided(node: ast.AST) -> int | None:
    """N of `world_size // N`, as a constant."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.FloorDiv):
        return None
    left, right = node.left, node.right
    about_ranks = (
        isinstance(left, ast.Name) and left.id in ("world_size", "num_gpus", "ngpus", "WORLD_SIZE")
    ) or (scripts.called(left) == "get_world_size")
    if about_ranks and isinstance(right, ast.Constant) and isinstance(right.value, int) and right.value > 0:
        return right.value
    return None
