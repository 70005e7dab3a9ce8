"""The verb `logs`: prints whole lines, each with its node and rank; one node after the other, or all nodes as lines
come."""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from allranks.cli.common import print_json
from allranks.cli.run_verbs import FINAL, status_or_nothing
from allranks.core import AllranksError, BadInput, CouldNotTell, Node, Problem
from allranks.core.log_noise import Noise, shown
from allranks.core.text import fold, plural, spans, spelt_out
from allranks.runs import index
from allranks.transport import NodeProgram, Nodes

CHUNK_BYTES = 1 << 20
TAIL_BYTES = 64 << 10

Wanted = dict[str, dict[str, int]]
"""Node → path → size in bytes, for each of its logs."""


class Missing(set[str]):
    """The nodes whose logs are not shown, or not to their end."""

    def note(self, node: str, error: AllranksError) -> None:
        if node not in self:
            self.add(node)
            text = str(error).removeprefix(f"{node}: ")
            print(spelt_out(f"{node}: its logs are missing or not whole: {text}"), file=sys.stderr)


@dataclass
class Lines:
    """Takes pieces of files and gives whole lines to `say(node, rank, text)`; rank None is torchrun's own log."""

    say: Callable[[str, int | None, str], None]
    pattern: re.Pattern[str] | None = None
    noise: bool = True
    """Whether to print known noise, too. Otherwise it is counted in `hidden`."""
    rests: dict[str, str] = field(default_factory=dict)
    filters: dict[str, Noise] = field(default_factory=dict)
    hidden: int = 0

    def add(self, path: str, text: str) -> None:
        *whole, self.rests[path] = (self.rests.get(path, "") + text).split("\n")
        for line in whole:
            self._say(path, line)

    def end(self) -> None:
        """Treats the text after the last line break as a line, too."""
        for path, rest in self.rests.items():
            if rest:
                self._say(path, rest)
        self.rests.clear()

    def _say(self, path: str, line: str) -> None:
        text = shown(line)
        if not self.noise and self.filters.setdefault(path, Noise()).holds(text):
            self.hidden += 1
        elif self.pattern is None or self.pattern.search(text):
            self.say(node_of(path), rank_of(path), spelt_out(text))


def logs_command(options: argparse.Namespace) -> int:
    if options.json and options.follow:
        raise BadInput(
            Problem("--json and -f exclude each other", why="one document has an end.", do="one of them")
        )
    if options.fold and (options.json or options.follow):
        raise BadInput(
            Problem(
                "--fold with --json or -f", why="folding needs all lines, and changes them.", do="one of them"
            )
        )
    pattern = pattern_of(options.grep)
    found: list[tuple[str, int | None, str]] = []
    missing = Missing()

    def keep(node: str, rank: int | None, text: str) -> None:
        found.append((node, rank, text))

    try:
        lines = Lines(keep if options.json or options.fold else print_line, pattern, options.noise)
        run_id = asyncio.run(show(options, lines, missing))
    except KeyboardInterrupt:
        return 0
    if options.json:
        print_json({"id": run_id, "lines": [{"node": n, "rank": r, "text": text} for n, r, text in found]})
    elif options.fold:
        print("\n".join(fold_lines(found)))
    if lines.hidden and not options.json:
        said = f"{plural(lines.hidden, 'line')} of a kind that healthy runs print: hidden; --noise shows them"
        print(said, file=sys.stderr)
    return CouldNotTell.exit_code if missing else 0


def pattern_of(text: str | None) -> re.Pattern[str] | None:
    """The compiled pattern. Raises BadInput if the pattern is invalid."""
    try:
        return None if text is None else re.compile(text)
    except re.error as error:
        do = "a regular expression of Python; a \\ before . ( ) [ ] { } + * ? ^ $ | means the sign itself"
        raise BadInput(Problem(f"--grep {text}: {error}", do=do)) from None


def fold_lines(said: Iterable[tuple[str, int | None, str]]) -> list[str]:
    """(node, rank, text) → `(node[1-3], ranks 0-23) text`, each text once, in the order of its first occurrence."""
    groups: dict[str, dict[tuple[str, int | None], None]] = {}
    for node, rank, text in said:
        groups.setdefault(text, {}).setdefault((node, rank))
    return [f"({who(list(those))}) {text}" for text, those in groups.items()]


def who(those: Sequence[tuple[str, int | None]]) -> str:
    """The source of a line: folded nodes, and their ranks. torchrun's own log has no rank."""
    names = fold(dict.fromkeys(node for node, _ in those))
    ranks = sorted(rank for _, rank in those if rank is not None)
    said = [] if len(ranks) == len(those) else ["torchrun"]
    if ranks:
        said.append(str(ranks[0]) if len(ranks) == 1 else f"ranks {spans(ranks)}")
    return ", ".join([names, *said])


def print_line(node: str, rank: int | None, text: str) -> None:
    print(f"({node}, {'torchrun' if rank is None else rank}) {text}", flush=True)


async def show(options: argparse.Namespace, lines: Lines, missing: Missing) -> str:
    """Prints what can be read. A node that cannot be asked is in `missing`; if it is the only one, its error is
    raised."""
    run_id = await index.find(options.run)
    async with index.connected(run_id) as nodes:
        wanted = await wanted_logs(nodes, run_id, options.node, missing)
        require_node(
            options.node, run_id, {*nodes.programs, *(node_of(p) for w in wanted.values() for p in w)}
        )
        if options.follow:
            await follow(nodes, wanted, run_id, options, lines, missing)
        else:
            await read(nodes, wanted, run_id, options, lines, missing)
    lines.end()
    return run_id


async def wanted_logs(nodes: Nodes, run_id: str, names: Sequence[str], missing: Missing) -> Wanted:
    """The logs of the nodes `names`, or of all. The other nodes are not asked: one of them may be down."""
    asked = [name for name in nodes.programs if not names or name in names or name == index.HERE.name]

    async def listed(node: Node, program: NodeProgram) -> dict[str, int] | None:
        return await logs_of(program, node.name, run_id) if node.name in asked else None

    outcomes = await nodes.each(listed)
    failed = {one.node.name: one.error for one in outcomes if one.error is not None}
    for name, error in failed.items():
        if len(asked) == 1:
            raise error
        missing.note(name, error)
    return {one.node.name: one.answer for one in outcomes if one.answer is not None}


def require_node(asked: Iterable[str], run_id: str, known: set[str]) -> None:
    """Raises BadInput for a requested node that is not in the run."""
    names = sorted(known - {index.HERE.name})
    unknown = [name for name in asked if name not in names]
    if unknown:
        do = "its nodes are " + ", ".join(names[:8])
        raise BadInput(Problem(f"--node: {name} is not a node of {run_id}", do=do) for name in unknown)


async def logs_of(program: NodeProgram, name: str, run_id: str) -> dict[str, int]:
    """The path and size of each log for which this node is responsible. If the run is not in the index, all logs on
    this machine."""
    listing = await program.call("read", "listing", run_id)
    found = {str(entry["path"]): int(entry["size_bytes"]) for entry in listing["files"]}
    return {
        path: size
        for path, size in found.items()
        if path.startswith("nodes/") and "/logs/" in path and name in (node_of(path), index.HERE.name)
    }


def is_asked_for(path: str, options: argparse.Namespace) -> bool:
    return (not options.node or node_of(path) in options.node) and (
        not options.rank or rank_of(path) in options.rank
    )


async def read(
    nodes: Nodes, wanted: Wanted, run_id: str, options: argparse.Namespace, lines: Lines, missing: Missing
) -> None:
    """Reads everything that the logs contain now. Raises BadInput for a requested rank that has no log, unless its
    log may be on a missing node."""
    seen: set[int | None] = set()
    for name, logs in wanted.items():
        paths = [path for path in logs if is_asked_for(path, options)]
        seen |= {rank_of(path) for path in paths}
        try:
            for path in paths:
                if options.tail:
                    await read_tail(nodes[name], run_id, path, logs[path], options.tail, lines, whole=True)
                else:
                    await read_file(nodes[name], run_id, path, range(logs[path]), lines)
                lines.end()
        except AllranksError as error:
            lines.end()
            missing.note(name, error)
    unknown = sorted(set(options.rank) - seen)
    if unknown and not missing:
        do = f"allranks logs {run_id} shows all"
        raise BadInput(Problem(f"rank {rank} of {run_id} has no log here", do=do) for rank in unknown)


async def read_tail(
    program: NodeProgram, run_id: str, path: str, size: int, most: int, lines: Lines, whole: bool = False
) -> int:
    """Prints the last `most` lines that pass the filters of `lines`, and returns the byte after them. It reads back
    as far as necessary. `whole`: text after the last line break is a line, since nothing is read after it."""
    back = min(size, max(TAIL_BYTES, most * 200))
    while True:
        kept: deque[tuple[str, int | None, str]] = deque(maxlen=most)
        amount = 0

        def keep(node: str, rank: int | None, text: str, kept: deque = kept) -> None:
            nonlocal amount
            amount += 1
            kept.append((node, rank, text))

        last = Lines(keep, lines.pattern, lines.noise)
        end = await read_file(program, run_id, path, range(size - back, size), last)
        if whole:
            last.end()
        # The first line may be incomplete. It does not count, and is not printed unless the whole file was read.
        if back >= size or amount > most:
            break
        back = min(size, back * 4)
    for line in kept:
        lines.say(*line)
    lines.hidden += last.hidden
    lines.rests.update(last.rests)
    return end


async def read_file(program: NodeProgram, run_id: str, path: str, wanted: range, lines: Lines) -> int:
    """Reads these bytes, and those that came with the last piece, because a rank may write faster than this program
    reads. Returns the byte after them."""
    offset = wanted.start
    while offset < wanted.stop:
        answer = await program.call("read", "chunk", run_id, path, str(offset), str(CHUNK_BYTES))
        text, offset = str(answer.get("text", "")), int(answer["next_offset"])
        if not text:
            break
        lines.add(path, text)
    return offset


async def follow(
    nodes: Nodes, wanted: Wanted, run_id: str, options: argparse.Namespace, lines: Lines, missing: Missing
) -> None:
    """Prints the lines of all logs of all nodes as they come, until the run has ended. A node that falls silent does
    not end the others' lines."""

    async def one(name: str, logs: dict[str, int]) -> None:
        try:
            await lines_of(name, logs)
        except AllranksError as error:
            missing.note(name, error)

    async def lines_of(name: str, logs: dict[str, int]) -> None:
        words = [f"nodes/{'*' if name == index.HERE.name else name}/logs/*.log"]
        for path, size in logs.items() if options.tail else ():
            if is_asked_for(path, options):
                size = await read_tail(nodes[name], run_id, path, size, options.tail, lines)
            words += ["--from", path, str(size)]
        async for piece in nodes[name].follow(run_id, *words):
            if is_asked_for(str(piece.get("path", "")), options):
                lines.add(str(piece["path"]), str(piece.get("text", "")))

    await asyncio.gather(*(one(name, logs) for name, logs in wanted.items()))
    head = next(iter(nodes.programs))
    if head in wanted and head not in missing:
        await require_end(nodes[head], run_id)


async def require_end(head: NodeProgram, run_id: str) -> None:
    """Raises CouldNotTell if the lines have ended and the run has not: the program that read them on this machine was
    killed. The state is None if this machine has only a part of the run."""
    state = (await status_or_nothing(head, run_id)).get("state")
    if state is not None and state not in FINAL:
        said = f"{run_id} goes on, but its logs cannot be followed any longer"
        raise CouldNotTell(f"{said}.\n  fix  allranks logs {run_id} -f")


def node_of(path: str) -> str:
    """The node in `nodes/<name>/logs/…`."""
    parts = path.split("/")
    return parts[1] if len(parts) > 2 else ""


def rank_of(path: str) -> int | None:
    """The rank in `…/rank-3.log`."""
    stem = path.rsplit("/", 1)[-1]
    number = stem[len("rank-") : -len(".log")] if stem.startswith("rank-") and stem.endswith(".log") else ""
    return int(number) if number.isdigit() else None
