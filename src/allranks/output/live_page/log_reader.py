"""Reads the logs of a run's ranks for the page: the list, a piece of one log, and new lines as they come."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterable
from typing import Any

from allranks.core import AllranksError
from allranks.core.text import spelt_out
from allranks.core.untrusted import integer, mappings, text
from allranks.runs import index
from allranks.transport import NodeProgram, Nodes

LOG = re.compile(r"nodes/([A-Za-z0-9_][A-Za-z0-9._-]*)/logs/(rank-(\d{1,9})|torchrun|supervisor)\.log")
"""The only files that the page may request."""

CHUNK_BYTES = 256 << 10
MOST_FOLLOWED = 16
MOST_FOUND = 500
SEARCHED_BYTES = 1 << 20
"""The end of each log in which the search looks, in bytes."""

SEARCHED_LOGS = 64
LONGEST_LINE = 4_000
COLOUR = re.compile(r"\x1b\[[0-9;:?]*[A-Za-z]")


def known(paths: Iterable[str]) -> list[str]:
    """The paths that are logs of a rank, of torchrun or of a supervisor."""
    return [path for path in paths if LOG.fullmatch(path)]


def line_of(raw: str) -> str:
    """The line as a terminal would show it: the text after the last carriage return, without colours and control
    characters."""
    shown = raw.rstrip("\r").rsplit("\r", 1)[-1]
    return spelt_out(COLOUR.sub("", shown[:LONGEST_LINE]))


async def listed(run_id: str) -> list[dict[str, Any]]:
    """`{path, node, rank, bytes}` of each log. A node that cannot be asked has no logs in the list."""
    async with index.connected(run_id) as nodes:
        outcomes = await nodes.each(lambda _, program: program.call("read", "listing", run_id))
    found: dict[str, dict[str, Any]] = {}
    for outcome in outcomes:
        for one in mappings((outcome.answer or {}).get("files")):
            path = text(one.get("path")) or ""
            match = LOG.fullmatch(path)
            if match:
                rank = int(match[3]) if match[3] else None
                size = integer(one.get("size_bytes")) or 0
                name = match[2] if rank is None else None
                found[path] = {"path": path, "node": match[1], "rank": rank, "name": name, "bytes": size}
    return sorted(found.values(), key=lambda one: (one["rank"] is None, one["rank"] or 0, one["path"]))


def program_of(nodes: Nodes, path: str) -> NodeProgram:
    """The node that has this log, or the machine that has the whole run."""
    match = LOG.fullmatch(path)
    name = match[1] if match else ""
    return nodes.programs.get(name) or next(iter(nodes.programs.values()))


async def piece(run_id: str, path: str, offset: int, most_bytes: int = CHUNK_BYTES) -> dict[str, Any]:
    """Whole lines of one log from a byte on; a negative offset counts from the end. `first` and `next` are the bytes
    at which the lines begin and end."""
    async with index.connected(run_id) as nodes:
        return await read(program_of(nodes, path), run_id, path, offset, most_bytes)


async def read(program: NodeProgram, run_id: str, path: str, offset: int, most_bytes: int) -> dict[str, Any]:
    answer = await program.call(
        "read", "chunk", run_id, path, str(offset), str(min(most_bytes, SEARCHED_BYTES))
    )
    first, after = integer(answer.get("offset")) or 0, integer(answer.get("next_offset")) or 0
    said, size = text(answer.get("text")) or "", integer(answer.get("size_bytes")) or 0
    if first > 0 and "\n" in said:  # the first line may be the end of a line
        first = integer(answer.get("first_line")) or first
        said = said[said.index("\n") + 1 :]
    if after < size and "\n" in said:
        after = integer(answer.get("last_line")) or after
        said = said[: said.rindex("\n") + 1]
    lines = said.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    return {
        "path": path,
        "first": first,
        "next": after,
        "bytes": size,
        "lines": [line_of(one) for one in lines],
    }


async def followed(run_id: str, places: dict[str, int]) -> AsyncIterator[dict[str, Any]]:
    """`{path, lines}` of these logs as new lines come, starting at these bytes, until the run has ended."""
    nodes = index.nodes_of(run_id)
    queue: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue(64)
    by_program: dict[NodeProgram, list[str]] = {}
    for path in known(places)[:MOST_FOLLOWED]:
        by_program.setdefault(program_of(nodes, path), []).append(path)

    async def one(program: NodeProgram, paths: list[str]) -> None:
        words = [word for path in paths for word in ("--from", path, str(places[path]))]
        rests: dict[str, str] = {}
        try:
            async for part in program.follow(run_id, *paths, *words):
                path = str(part.get("path", ""))
                *whole, rest = (rests.get(path, "") + str(part.get("text", ""))).split("\n")
                rests[path] = rest[-LONGEST_LINE:]
                if whole:
                    await queue.put({"path": path, "lines": [line_of(line) for line in whole]})
            for path, rest in rests.items():
                if rest:
                    await queue.put({"path": path, "lines": [line_of(rest)]})
        except AllranksError as error:
            await queue.put({"error": str(error)})
        finally:
            await queue.put(None)

    tasks = [asyncio.ensure_future(one(program, paths)) for program, paths in by_program.items()]
    left = len(tasks)
    try:
        while left:
            said = await queue.get()
            if said is None:
                left -= 1
            else:
                yield said
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await nodes.close()


async def searched(run_id: str, words: str, paths: Iterable[str]) -> dict[str, Any]:
    """The lines at the end of each log that contain these words; upper and lower case are equal."""
    wanted = known(paths)
    nodes = index.nodes_of(run_id)
    gate = asyncio.Semaphore(8)
    needle = words.casefold()
    found: list[dict[str, Any]] = []
    failed: list[str] = []

    async def one(path: str) -> None:
        async with gate:
            try:
                got = await read(program_of(nodes, path), run_id, path, -SEARCHED_BYTES, SEARCHED_BYTES)
            except AllranksError as error:
                failed.append(f"{path}: {error}")
                return
        hits = [line for line in got["lines"] if needle in line.casefold()]
        if hits:
            found.append({"path": path, "lines": hits[-MOST_FOUND:], "count": len(hits)})

    try:
        await asyncio.gather(*(one(path) for path in wanted[:SEARCHED_LOGS]))
    finally:
        await nodes.close()
    order = {path: place for place, path in enumerate(wanted)}
    found.sort(key=lambda one: order[one["path"]])
    return {
        "found": found[:MOST_FOUND],
        "searched": min(len(wanted), SEARCHED_LOGS),
        "left_out": max(0, len(wanted) - SEARCHED_LOGS),
        "failed": failed[:20],
        "bytes_each": SEARCHED_BYTES,
    }
