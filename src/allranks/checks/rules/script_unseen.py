"""The script trains or saves in a way that cannot be watched from outside.

## How it is found
In the training script: `torch.compile` around an optimizer's step; libraries that train without torch (JAX, TensorFlow,
Paddle, MindSpore) where torch is not imported; saves by `pickle.dump`, `joblib.dump`, `torch.jit.save`,
`torch.export.save` or numpy, where the script has no save that can be seen.

## Why it matters
Steps are counted where torch's optimizers, transformers' Trainer and DeepSpeed tell them. Compiled code has no such
place. Without steps the run has no loss, no speed and no estimate, and a rank that stands still is found only by
torch's own time-outs. A save that is not seen is neither verified nor offered for resuming. allranks still names the
cause of a failure, from exceptions, signals and logs.

## What to do
Compile the model, not the step: `torch.compile(model)`, with `optimizer.step()` outside. Save with `torch.save`,
safetensors or torch.distributed.checkpoint. Otherwise nothing: this is a note.

## Source
`src/allranks/worker/activation.py` lists the libraries whose steps and saves are watched; torch's compiler leaves out
optimizers' hooks.

Topic: settings
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from allranks.checks import scripts
from allranks.checks.context import Context
from allranks.core import Finding, Where

UNKNOWN_BLOCKS = False
applies = scripts.applies

OTHERS = {"jax", "flax", "tensorflow", "paddle", "mindspore", "mxnet"}
"""Libraries that train by themselves, without torch's optimizers."""

NUMPY = ("np.save", "np.savez", "numpy.save", "numpy.savez")
UNSEEN = ("pickle.dump", "joblib.dump", "torch.jit.save", "torch.export.save", *NUMPY)
SEEN = {"save", "async_save", "save_file", "save_pretrained", "save_model", "save_state", "save_checkpoint"}
"""Last names of calls that save where it is seen."""

TRAINERS = re.compile(r"trainer[^.]*\.(train|fit)$", re.IGNORECASE)
"""A Trainer of transformers, TRL or Lightning saves by itself."""


def check(context: Context) -> Iterator[Finding]:
    found = scripts.seen(context)
    if found is None:
        return
    tree = found[1]
    for line, saw, fix in [*unseen_steps(tree), *unseen_saves(tree)]:
        yield context.note(
            Where(file=scripts.path_of(context), line=line),
            saw=saw,
            expected="a step of a torch optimizer, Trainer or DeepSpeed; a save by torch, safetensors or a Trainer",
            why="what is not seen is not shown and not verified; failures are named all the same.",
            fix=fix,
        )


def unseen_steps(tree: ast.Module) -> Iterator[tuple[int, str, str]]:
    """(line, what, what to do) of what hides the steps."""
    packages = set(imported(tree))
    others = sorted(packages & OTHERS)
    if others and not packages & {"torch", "transformers", "lightning", "deepspeed", "accelerate", "trl"}:
        text = f"the script trains with {', '.join(others)}: its steps, loss and saves will not be seen"
        yield 1, text, "nothing: only logs, exceptions and processes are watched"
        return
    line = compiled_step(tree)
    if line is not None:
        text = "torch.compile takes in the optimizer's step: steps, loss and speed will not be seen"
        yield line, text, "compile the model alone, and call optimizer.step() outside of it"


def unseen_saves(tree: ast.Module) -> Iterator[tuple[int, str, str]]:
    made = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    names = [(call.lineno, ast.unparse(call.func)) for call in made if isinstance(call.func, ast.Attribute)]
    hidden = [(line, name) for line, name in names if name in UNSEEN]
    rest = [name for _, name in names if name not in UNSEEN]
    if hidden and not any(name.rpartition(".")[2] in SEEN or TRAINERS.search(name) for name in rest):
        line, name = hidden[0]
        yield line, f"what {name}() saves will not be seen", "save with torch.save or safetensors"


def imported(tree: ast.AST) -> Iterator[str]:
    """The packages that the script imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.split(".")[0]


def compiled_step(tree: ast.Module) -> int | None:
    """The line where `torch.compile` takes an optimizer's step in: the method, or a function that calls it."""
    stepping = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and steps(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name in stepping:
            around = [one.func if isinstance(one, ast.Call) else one for one in node.decorator_list]
            if any(is_compile(one) for one in around):
                return node.lineno
        if isinstance(node, ast.Call) and is_compile(node.func) and node.args:
            given = node.args[0]
            named = isinstance(given, ast.Name) and given.id in stepping
            if named or is_step(given) or (isinstance(given, ast.Lambda) and steps(given)):
                return node.lineno
    return None


def is_compile(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and ast.unparse(node) == "torch.compile"


def is_step(node: ast.AST) -> bool:
    """`optimizer.step`, `self.opt.step`; not a scheduler's."""
    if not isinstance(node, ast.Attribute) or node.attr != "step":
        return False
    return ast.unparse(node.value).rpartition(".")[2].lower().startswith("opt")


def steps(node: ast.AST) -> bool:
    return any(isinstance(one, ast.Call) and is_step(one.func) for one in ast.walk(node))
