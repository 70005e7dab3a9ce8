"""A user's own training script, read as text and never run: what can be seen in its syntax tree."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping
from typing import Any

from allranks.checks.context import Context, View
from allranks.checks.fact_request import command_files
from allranks.core.untrusted import mapping


def applies(context: Context) -> bool:
    """The run starts a Python script of the user's own."""
    return context.run.train.kind == "command" and any(
        path.endswith(".py") for path in command_files(context.run)
    )


def path_of(context: Context) -> str:
    return next((path for path in command_files(context.run) if path.endswith(".py")), "")


def seen(context: Context) -> tuple[View, ast.Module] | None:
    """The script's tree, from the first node that could read it; None if none could, or it is not Python 3."""
    path = path_of(context)
    for view in context.machines:
        text = mapping(view.map("storage.files").get(path)).get("text")
        if isinstance(text, str):
            try:
                return view, ast.parse(text)
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                return None
    return None


def json_files(context: Context) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The JSON objects that the command names, by path."""
    for path in command_files(context.run):
        if path.endswith(".json"):
            for view in context.machines:
                text = mapping(view.map("storage.files").get(path)).get("text")
                try:
                    value = json.loads(text) if isinstance(text, str) else None
                except (ValueError, RecursionError):
                    value = None
                if isinstance(value, dict):
                    yield path, value
                    break


def called(node: ast.AST) -> str:
    """The last name of a call: `save_checkpoint` of `engine.save_checkpoint(...)`; empty for anything else."""
    if not isinstance(node, ast.Call):
        return ""
    function = node.func
    return (
        function.attr
        if isinstance(function, ast.Attribute)
        else function.id
        if isinstance(function, ast.Name)
        else ""
    )


def calls(tree: ast.AST, *names: str) -> list[ast.Call]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call) and called(node) in names]


COLLECTIVES = (
    *("save_checkpoint", "load_checkpoint", "save_16bit_model", "save_fp16_model"),
    *("barrier", "all_reduce", "all_gather", "all_gather_into_tensor", "all_gather_object", "broadcast"),
    *("broadcast_object_list", "reduce_scatter", "reduce_scatter_tensor", "reduce", "gather", "scatter"),
)
"""DeepSpeed's saves gather or wait on all ranks; the rest are torch.distributed's."""


def asks_rank(test: ast.AST) -> bool:
    """Whether a condition is about the rank: `rank == 0`, `dist.get_rank() == 0`, `is_main_process`."""
    for node in ast.walk(test):
        if isinstance(node, ast.Name) and node.id in ("rank", "global_rank", "is_main_process", "is_rank_0"):
            return True
        if isinstance(node, ast.Attribute) and node.attr in (
            "is_main_process",
            "global_rank",
            "is_world_process_zero",
        ):
            return True
        if called(node) in ("get_rank", "is_main_process"):
            return True
    return False
