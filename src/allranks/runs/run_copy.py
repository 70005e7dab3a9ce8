"""The record that a run's head has written, on this machine: the run's folder, or a copy of its small files."""

from __future__ import annotations

import contextlib
import re
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

from allranks.core import BadInput, Problem
from allranks.core.untrusted import mappings, text
from allranks.node.paths import RunDirectory
from allranks.runs import index
from allranks.transport import NodeProgram, ProgramFailed, Unreachable

READ = re.compile(
    r"(run|plan|keeper/state)\.json|keeper/journal\.jsonl|nodes/[A-Za-z0-9_][A-Za-z0-9._-]*/job\.json"
)
"""The files that a report needs. Logs and checkpoints are not copied."""


@contextlib.asynccontextmanager
async def record_of(run_id: str) -> AsyncIterator[str]:
    """The folder of a run's record: the run's own folder if it is here, else a copy, which is removed at the end.
    Raises BadInput if the head cannot send it."""
    directory = RunDirectory(run_id)
    if Path(directory.marker).is_file():
        yield directory.root
        return
    async with index.connected_head(run_id) as head:
        with tempfile.TemporaryDirectory(prefix="allranks-record-") as folder:
            try:
                await copy(head, run_id, Path(folder))
            except (ProgramFailed, Unreachable) as error:
                problem = Problem(f"{head.node} gave no record of {run_id}: {error.text}", do="allranks ps")
                raise BadInput(problem) from error
            yield folder


async def copy(head: NodeProgram, run_id: str, folder: Path) -> None:
    listed = await head.call("read", "listing", run_id)
    for one in mappings(listed.get("files")):
        path = text(one.get("path")) or ""
        if READ.fullmatch(path):
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("w", encoding="utf-8") as file:
                async for part in pieces(head, run_id, path):
                    file.write(part)


async def pieces(head: NodeProgram, run_id: str, path: str) -> AsyncIterator[str]:
    """The text of one file in a run's folder. Raises ProgramFailed and Unreachable."""
    offset = 0
    while True:
        answer = await head.call("read", "chunk", run_id, path, str(offset))
        yield str(answer.get("text", ""))
        if int(answer["next_offset"]) <= offset:
            return
        offset = int(answer["next_offset"])
