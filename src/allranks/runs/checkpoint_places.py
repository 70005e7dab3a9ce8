"""Finds the checkpoint that a person names: a folder here, `node:/path`, or a run, here or on its head."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from allranks.checkpoints import node_verbs
from allranks.core import BadInput, Problem
from allranks.core.net import over_there
from allranks.runs import index
from allranks.runs.node_targets import Access, open_targets
from allranks.transport import Nodes, ProgramFailed

READ_SECONDS = 3600.0
"""Time to read a whole checkpoint: 671B parameters in bfloat16 are 1.3 TB, about 22 minutes at 1 GB/s."""


@dataclass(frozen=True)
class CheckpointPlace:
    """The place of a checkpoint. `request` is for `checkpoints.node_verbs`; `nodes` is None if the checkpoint is on
    this machine."""

    text: str
    request: Mapping[str, Any] = field(default_factory=dict)
    nodes: Nodes | None = None
    path: str = ""

    @property
    def node(self) -> str | None:
        return next(iter(self.nodes.programs)) if self.nodes is not None else None

    async def on_node(self, what: str, **more: Any) -> dict[str, Any]:
        """The answer to `list`, `verify`, `prune` or `files`. Raises BadInput and Unreachable."""
        if self.nodes is None:
            try:
                return node_verbs.document(what, {**self.request, **more})
            except OSError as error:
                raise BadInput(
                    Problem(f"{error.filename}: {error.strerror}", do="look at the folder")
                ) from error
        program = next(iter(self.nodes.programs.values()))
        wanted = {**self.request, **more}
        try:
            return await program.call("checkpoints", what, stdin=wanted, timeout_seconds=READ_SECONDS)
        except ProgramFailed as error:
            raise refused(self.node, error) from error

    async def close(self) -> None:
        if self.nodes is not None:
            await self.nodes.close()


def refused(node: str | None, error: ProgramFailed) -> BadInput:
    """The error for a request that a node refused, the same as on this machine."""
    told = error.answer.get("problems")
    problems = [one for one in told if isinstance(one, dict)] if isinstance(told, list) else []
    if not problems:
        return BadInput(Problem(f"{node}: {error.text}", do="allranks checkpoints list RUN"))
    return BadInput(
        Problem(f"{node}: {one.get('saw')}", str(one.get("why") or ""), str(one.get("do") or ""))
        for one in problems
    )


def of_text(text: str | None, access: Access | None = None, file: bool = False) -> CheckpointPlace:
    """The place that `text` means. A run file means its newest run; no `text` means the newest run of all. With
    `file` it may also be a checkpoint's file on this machine. Raises BadInput for anything else."""
    text = text if text is not None else found(None)
    is_run_file = text.endswith((".yaml", ".yml")) and Path(text).is_file()
    if text and (Path(text).is_dir() or (file and Path(text).is_file() and not is_run_file)):
        path = str(Path(text).absolute())
        return CheckpointPlace(text, {"path": path}, path=path)
    if text and Path(text).exists() and not is_run_file:
        raise BadInput(Problem(f"{text} is a file", do="the folder of the checkpoint, or of all of a run"))
    elsewhere = over_there(text)
    if elsewhere:
        host, path = elsewhere
        return CheckpointPlace(text, {"path": path}, open_targets(host, access or Access()), path)
    run_id = found(text)
    try:
        index.directory_here(run_id)
    except BadInput:
        if not index.entry(run_id):
            raise
        return CheckpointPlace(run_id, {"run": run_id}, head_of(run_id))
    return CheckpointPlace(run_id, {"run": run_id})


def found(text: str | None) -> str:
    try:
        return asyncio.run(index.find(text))
    except BadInput as error:
        if not text or Path(text).is_file():
            raise
        do = "allranks ps lists the runs; node:/path is a folder of another machine"
        raise BadInput(Problem(f"{text} is not a folder, and not a run that is known here", do=do)) from error


def head_of(run_id: str) -> Nodes:
    """Only the head of the run, because it has the run's checkpoints."""
    nodes = index.nodes_of(run_id)
    name = next(iter(nodes.programs))
    return Nodes({name: nodes.programs[name]}, {name: nodes.nodes[name]})
