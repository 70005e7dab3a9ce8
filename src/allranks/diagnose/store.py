"""The memory of all logs, and whose a line is: the facts write it, and the symptoms' `judge` functions read it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Dict, List, NamedTuple, Optional, Set, Tuple

from allranks.diagnose.dumps import Dumps
from allranks.diagnose.lines import Line, near, seconds
from allranks.diagnose.samples import Samples
from allranks.diagnose.sources import Source
from allranks.diagnose.streams import Raised, Seen
from allranks.diagnose.symptom import NO_TIME, Hit
from allranks.diagnose.usual import Unknown, Usual

_NO_LINES = Unknown()

RANKS_KEPT = 65536
QUOTED_WITHIN = 80
"""Lines of a traceback in torchrun's table of failures."""

MARKS, DOCUMENT_LINES, SHARE = 5, 40, 100
"""A document has so many marks, so many lines, and a mark in so many lines."""
MANY_MARKS, MANY_LINES, DENSE, LAST = 10, 100, 25, 15
"""With so many, it may quote tracebacks and times, if none of them ends in the last lines: those of a job that printed
its script do."""

GUIDE_MARKS, GUIDE_SHARE = 100, 10
"""With so many, one in so many lines, it may quote lines of ranks too."""

MIXTURES = ("Mixtral", "MoE", "Moe", "moe", "experts", "DeepseekV", "deepseek_v", "DeepSeek-V")
PROPOSALS = (
    "This PR ", "this PR ", "This pull request", "this pull request", "This commit", "this commit", "This patch",
    "would be nice", "Would be nice", "feature request", "Feature request", "## Motivation", "may or may not",
    "| Variable", "| Parameter", "This guide", "this guide", "In this article", "In this section", "As documented in",
)  # fmt: skip
"""In texts about a program or its change, which may tell what it does at a failure."""

CHANGES = re.compile(
    r"(?i)(?:\[[\w /.:-]{1,40}\]:?[ ]{0,2}){0,3}(?:(?:feat|fix|docs?|chore|refactor)(?:\([\w ./-]{1,40}\))?!?:"
    r"|(?:adds?|fix(?:es)?|update|remove|hide|clarify|improve|implement|introduce|rename|refactor|bump|revert"
    r"|parse|simplify)[ ](?!key\b|error|failed))"
)
"""The title of a change, in the first line."""

PAGES = (
    "Skip to main content",
    "Expand description",
    "This document ",
    "pub fn ",
    "pub const ",
    "Table of contents",
)
"""In pages of a documentation, which list messages that nobody printed."""


class Exit(NamedTuple):
    """The end of a process, as a launcher reports it. `code` is negative for a signal. `order` counts lines."""

    rank: Optional[int]
    local: Optional[int]
    node: Optional[str]
    code: int
    pid: Optional[int]
    order: int
    at: Optional[float]
    line: Line
    steps: int = 0
    """The steps that its log shows before it."""


@dataclass
class Ports:
    """The ports of the store at which ranks meet: those at which processes did not find it, with the first line that
    says so; those of stores at which processes wait; the lines in which programs name its port."""

    sought: Dict[int, Line] = field(default_factory=dict)
    found: Set[int] = field(default_factory=set)
    told: Dict[int, List[Line]] = field(default_factory=dict)


class Collective(NamedTuple):
    """One rank's hanging collective, as NCCL's watchdog reports it."""

    sequence: int
    operation: str
    numel: Optional[int]
    line: Line


def root_of(source: "str | None") -> str:
    """torchrun's folder of one launch, in which each file belongs to a local rank; empty for any other file."""
    return (source or "").rpartition("/attempt_")[0]


class Store:
    """In bounded memory, by rank where a line names one."""

    def __init__(self) -> None:
        self.count = 0
        self.steps = 0
        self.last_step: Optional[Tuple[int, Line]] = None
        self.sources: Dict[Optional[str], Source] = {}
        self.reads_ends = True  # of each log; of hundreds only their first lines are read
        self.samples = Samples()
        self.ranks: Dict[int, Seen] = {}
        self.streams: Dict[Tuple[Any, ...], Seen] = {}
        self.hits: Dict[str, List[Hit]] = {}
        self.hit_ranks: Dict[str, Set[int]] = {}
        self.exits: List[Exit] = []
        self.exited: Set[int] = set()
        """The ranks in them."""
        self.last_exit = 0
        """The line of the last one with an error."""
        self.world_sizes: Dict[Optional[str], Set[int]] = {}
        self.collectives: Dict[int, Collective] = {}
        self.completed: Dict[int, Tuple[int, int]] = {}
        self.nccl_versions: Dict[Optional[str], str] = {}
        self.interfaces: Dict[Optional[str], Tuple[str, str, Line]] = {}
        self.missing_ranks: Dict[int, Line] = {}
        self.awaited: Dict[int, int] = {}
        """Ranks that never wrote NCCL's id, with one that waited for it."""
        self.ports, self.dumps = Ports(), Dumps()
        self.left: List[Tuple[int, int, Line]] = []
        """(line over all sources, rank, line) in which ranks say that they are done or leave."""
        self.actors: Dict[int, int] = {}
        """The lines over all sources that name an actor, with its rank."""
        self.with_shared_memory: Set[Optional[str]] = set()
        """Nodes whose /dev/shm was seen to have room before the end."""
        self.preprocessing: Optional[Tuple[int, Line]] = None
        self.preprocessing_last: Optional[Tuple[int, Line]] = None
        self.handled: Set[int] = set()
        """The lines over all sources of exceptions that a program was handling when its user ended it."""
        self.ctrl_c: Optional[Tuple[int, Line]] = None
        """The last line in which a terminal shows Ctrl-C, with its number over all sources."""
        self.words: Set[str] = set()
        self.root_cause: Optional[int] = None
        """The rank that torchrun's first table calls the root cause."""
        self.step_ended = 0
        """The line in which SLURM began to end all tasks."""
        self.closed_pids: Set[Tuple[Optional[str], int]] = set()
        self.operations: Dict[int, str] = {}
        self.addresses: Dict[str, str] = {}
        self.finished = False
        self.first_moment: Optional[float] = None
        self.tasks_are_nodes = False
        self.marks = self.marked = 0
        """How many lines are like those of documents and programs, and the number of the last one."""
        self.marking: Set[str] = set()
        self.figures: Dict[str, float] = {}
        self.locals: Dict[Tuple[Optional[str], str, int], int] = {}
        self.roots: Set[str] = set()
        self.forced_pids: Set[int] = set()
        self.exits_by_pid: Dict[Tuple[Optional[str], int], int] = {}
        self.exit_ranks: Dict[Tuple[Optional[str], Optional[int]], int] = {}
        """The rank that a table of failures gives for a local rank of a node."""
        self._nodes: Tuple[int, Set[str]] = (-1, set())
        self._rows: Dict[Any, Dict[str, Any]] = {}

    def forget_ends(self) -> None:
        """Of the last lines of each log it is not known that all of them were read one by one."""
        if self.reads_ends:
            self.reads_ends = False
            for source in self.sources.values():
                source.usual = Unknown()

    @property
    def is_single(self) -> bool:
        return len(self.sources) == 1

    @property
    def usual(self) -> Usual:
        """That of a single log."""
        return next(iter(self.sources.values())).usual if self.is_single else _NO_LINES

    def seen_of(self, line: Line) -> Seen:
        """The memory of the rank that printed this line, or of its stream."""
        rank = line.rank
        if rank is not None:
            seen = self.ranks.get(rank)
            if seen is None:
                seen = Seen(line)
                if len(self.ranks) < RANKS_KEPT:
                    self.ranks[rank] = seen
            if seen.node is None:
                seen.node = line.node
            if line.task is not None and line.task != rank:
                self.tasks_are_nodes = True
            if line.local is not None:
                self.locals[(line.node, root_of(line.source), line.local)] = rank
            return seen
        key = (line.node, line.source, line.local, line.task)
        stream = self.streams.get(key)
        if stream is None:
            stream = Seen(line)
            if line.local is not None:
                self.roots.add(root_of(line.source))
            if len(self.streams) < RANKS_KEPT:
                self.streams[key] = stream
        return stream

    def known(self, line: Line) -> Optional[Seen]:
        """The same, if such a line was read before."""
        if line.rank is not None:
            return self.ranks.get(line.rank)
        return self.streams.get((line.node, line.source, line.local, line.task))

    def raised_at(self, hit: Any) -> Optional[Raised]:
        """The exception in the line of a hit or a complaint, if it is one of the last ones of its stream."""
        if isinstance(hit, Raised):
            return hit
        seen = self.known(hit.line)
        return (
            next((one for one in seen.raised if one.order == hit.order), None) if seen is not None else None
        )

    def sizes_of(self, line: Line) -> Set[int]:
        """The world sizes that this line's node names."""
        if line.node not in self.world_sizes and len(self.world_sizes) >= RANKS_KEPT:
            return set()
        return self.world_sizes.setdefault(line.node, set())

    def now(self, line: Line) -> Optional[float]:
        """The last time stamp seen in this line's source, in seconds since the start of the first one's year."""
        source = self.sources.get(line.source)
        return self.moment(line.time or (source.time if source else None))

    def moment(self, stamp: Optional[str]) -> Optional[float]:
        """A time stamp on the axis of all others."""
        moment = seconds(stamp)
        if moment is None:
            return None
        if self.first_moment is None:
            self.first_moment = moment
        return near(moment, self.first_moment)

    def when(self, hit: Hit) -> Tuple[float, int]:
        """A key that orders hits in time: by the clock if several logs were read, else by the place in the log."""
        return (0.0 if len(self.sources) < 2 else NO_TIME if hit.at is None else hit.at, hit.order)

    def row(self, line: Line) -> Dict[str, Any]:
        """The row of a torchrun table that is being read in this line's stream."""
        return (
            self._rows.setdefault((line.rank, line.node, line.source), {})
            if len(self._rows) < RANKS_KEPT
            else {}
        )

    def told_by(self, line: Line) -> Optional[int]:
        """The rank of a line, also of one of the traceback that a row of torchrun's table quotes (`record`)."""
        if line.rank is not None or line.text[:2] != "  ":
            return line.rank
        row = self.row(line)
        rank: Optional[int] = row.get("of")
        return rank if self.count - row.get("since", self.count) <= QUOTED_WITHIN else None

    def put_first(self, number: Optional[int], begun: int) -> None:
        """Puts the end of a process before the others of its source that were read from line `begun` on."""
        if number is None:
            return
        one = self.exits[number]
        place = number
        while (
            place and (last := self.exits[place - 1]).order >= begun and last.line.source == one.line.source
        ):
            place -= 1
        if place < number:
            moved = [one._replace(order=self.exits[place].order), *self.exits[place:number]]
            self.exits[place : number + 1] = moved
            if one.rank is not None:
                self.exit_ranks[(one.node, one.local)] = one.rank
            for index, other in enumerate(moved, place):
                if other.pid is not None:
                    self.exits_by_pid[(other.line.node, other.pid)] = index

    def rank_of(self, line: Line) -> Optional[int]:
        """The global rank of a line: the line's own rank, its task, or the rank that a table in the log gives for its
        local rank."""
        if line.rank is not None:
            return line.rank
        if line.task is not None and not self.tasks_are_nodes:
            return line.task
        if line.local is not None and line.local >= 0:
            known = self.exit_ranks.get((line.node, line.local))
            if known is None:
                known = self.locals.get((line.node, root_of(line.source), line.local))
            if known is not None:
                return known
            if len(self.nodes) <= 1 and len(self.roots) <= 1 and not self.tasks_are_nodes:
                return line.local
        return None

    def node_of(self, line: Line) -> Optional[str]:
        if line.node is not None:
            return line.node
        if line.task is not None and self.tasks_are_nodes:
            return str(line.task)
        rank = self.rank_of(line)
        return self.ranks[rank].node if rank in self.ranks else None

    @property
    def is_document(self) -> bool:
        """Whether this is a text about logs: it has the marks of a document or of a program, and no sign of a log."""
        if self.marks < MARKS or self.count < DOCUMENT_LINES or self.marks * SHARE < self.count:
            return False
        if self.marked * 2 < self.count:  # a log that begins with its settings
            return False
        seen = (*self.ranks.values(), *self.streams.values())
        times = any(source.time for source in self.sources.values())
        ends = any(one.pid is not None for one in self.exits)
        is_guide = self.marks >= GUIDE_MARKS and self.marks * GUIDE_SHARE >= self.count
        if self.steps or ends or (self.ranks and not is_guide):
            return False
        dense = self.marks >= MANY_MARKS and self.marks * DENSE >= self.count >= MANY_LINES
        if dense and not self.exits:
            return is_guide or not self._fails_at_the_end()
        return not (times or any(one.headed for one in seen))

    def _fails_at_the_end(self) -> bool:
        """Whether the last lines are of an exception, or name a cause and have a time."""
        timed = (hit for hits in self.hits.values() for hit in hits if hit.line.time is not None)
        return any(one.order > self.count - LAST for one in (*(one for _, one in self.raised()), *timed))

    @property
    def explains(self) -> bool:
        """Whether this text explains a program or a change of it and shows nothing of a run."""
        if not self.words.intersection(("page", "proposal")) or self.steps or self.exits:
            return False
        return not (self.raised() or any(source.time for source in self.sources.values()))

    def raised(self) -> List[Tuple[Optional[int], Raised]]:
        """All tracebacks' last lines, of ranks and of unlabelled streams, in order."""
        every = [r for seen in (*self.ranks.values(), *self.streams.values()) for r in seen.raised]
        found = [(self.rank_of(r.line), r) for r in every if not self.sources[r.line.source].quotes(r.order)]
        return sorted(found, key=lambda item: item[1].order)

    @property
    def nodes(self) -> Set[str]:
        """Every node that a line names; under srun's task numbers, where they are nodes', those too."""
        if self._nodes[0] == self.count:
            return self._nodes[1]
        named = set()
        for seen in (*self.ranks.values(), *self.streams.values()):
            if seen.node is not None:
                named.add(seen.node)
            elif self.tasks_are_nodes and seen.task is not None:
                named.add(str(seen.task))
        self._nodes = (self.count, named)
        return named

    @property
    def world(self) -> Set[int]:
        """Every rank that is known to exist: it printed, is in a table, or the world size counts it."""
        known = set(self.ranks) | {e.rank for e in self.exits if e.rank is not None}
        if len(self.nodes) <= 1 and len(self.roots) == 1:  # torchrun's folder has a file of each rank
            known |= {place[2] for place in self.streams if place[2] is not None and place[2] >= 0}
        sizes = {size for group in self.world_sizes.values() for size in group}
        if len(sizes) == 1:
            size = next(iter(sizes))
            if size <= RANKS_KEPT and (not known or max(known) < size):
                known |= set(range(size))
        return known
