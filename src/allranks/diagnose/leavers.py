"""A rank that says that it leaves, before the others lose it."""

from __future__ import annotations

import re
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from allranks.diagnose.alone import Alone
from allranks.diagnose.lines import Line
from allranks.diagnose.repeats import form_of
from allranks.diagnose.store import Store
from allranks.diagnose.symptom import ECHO, Case, Hit, Pattern

_KEPT, LEFT_WITHIN = 512, 400
"""Lines that are kept, and lines from one of them to the first in which others lose their peer."""

HARDLY = 3
"""Lines after the last words in the log of one rank: a wrapper may print its exit code."""

_LEAVES = (
    r"(?i)\b(?:leav(?:es|ing)|finish(?:ed|es|ing)|stop(?:s|ped|ping)|exit(?:s|ing)|no more|end of|exhausted"
    r"|quit(?:s|ting)?|returning|bye|giv(?:es|ing) up|abort(?:s|ed|ing)|refus(?:es|ed|ing))\b"
)
_BY = (
    "leaves", "leaving", "Leaving", "finished", "Finished", "finishing", "stopping", "Stopping", "stopped",
    "exiting", "Exiting", "exits", "no more", "end of", "exhausted", "returning", "bye", "Bye", "giving up",
    "gives up", "aborting", "Aborting", "aborted", "refusing",
)  # fmt: skip
_GIVES_UP = re.compile(
    r"(?i)\b(?:giv(?:es|ing) up|abort\w{0,3}|refus\w{2,3}|fail\w{0,4}|errors?|invalid|corrupt\w{0,3}|mismatch\w{0,2}"
    r"|differs?|damaged|broken|missing|not found|cannot|should be|exit(?:s|ing)?.{0,12} [1-9]\d{0,2})\b"
)
LOST = re.compile(r"(?i)closed by (?:remote )?peer|reset by peer|remote process exited")
_GOES_ON = re.compile(
    r"(?i)\b(?:opening|old|next|prefetch\w{0,3}|loader|connection|gpu|memory|cache|thread|before|responding|yet)\b"
)
"""In words about a part of the work, or about something that ended."""

_LABEL = re.compile(
    r"(?P<label>(?:[Rr]ank|[Ww]orker|[Aa]ctor|[Tt]rainer|[Pp]roc(?:ess)?)[ _:#-]?(?P<named>\d{1,4}):[ ]"
    r"|[\[<](?:r|w|rank|worker|actor|trainer|proc(?:ess)?)[ _:#-]?(?P<inner>\d{1,4})[\]>][ ]"
    r"|[(\[](?P<bare>\d{1,4})[)\]][ ])"
)
"""A rank as programs write it before their lines. A pool's workers look like that, too, so it counts only here."""


class Left(NamedTuple):
    """`lost`: the lines in which others lose their peer, the first one first."""

    rank: int
    line: Line
    lost: Sequence[Hit]

    @property
    def gave_up(self) -> bool:
        """Whether it says that something is wrong, and not that it is done."""
        return _GIVES_UP.search(self.line.text) is not None

    def case(self, symptom: str, said: str) -> Case:
        first = self.lost[0]
        hits = (Hit(symptom, ECHO, self.line, first.order, first.at, first.steps), *self.lost[:3])
        notes = (f"rank {self.rank} says {said}, and then the others lose their peer",)
        return Case(symptom, ECHO + 6, hits, "likely", rank=self.rank, notes=notes)


def _leaves(seen: Store, line: Line, match: Any) -> None:
    label = _LABEL.match(line.text) if line.rank is None else None
    rank = seen.rank_of(line)
    if label is not None:
        rank = int(label.group("named") or label.group("inner") or label.group("bare"))
    if rank is not None and not (seen.left and seen.left[-1][0] == seen.count):
        seen.left.append((seen.count, rank, line))
        del seen.left[:-_KEPT]


FACTS: Tuple[Tuple[Pattern, Callable[[Store, Line, Any], None]], ...] = tuple(
    (Pattern(word, _LEAVES), _leaves) for word in _BY
)
HANDLERS = (_leaves,)


def left_alone(seen: Alone, hits: Sequence[Hit]) -> Optional[Left]:
    """The only rank that says last of all that it leaves, in words that no other rank uses, soon before others lose
    their peer (`hits`), and that raised nothing and lost none itself."""
    failed = {rank for rank, _ in seen.raised()} | seen.blamers()
    lost = sorted((hit for hit in hits if LOST.search(hit.line.text)), key=lambda hit: hit.order)
    if not lost:
        return None
    told: Dict[Tuple[str, ...], List[Tuple[int, int, Line]]] = {}
    for order, rank, line in seen.left:
        if order < lost[0].order or line.source != lost[0].line.source:
            told.setdefault(form_of(_LABEL.sub("", line.text, 1)), []).append((order, rank, line))
    alone = {
        same[0][1]: same[0][2]
        for same in told.values()
        if len(same) == 1 and same[0][1] not in failed and _is_last(seen, *same[0], lost[0])
    }
    # 1 is the code of an exception, such as that of a lost peer.
    ends = (one for one in seen.exits if one.rank is not None and one.code not in (0, 1, -15))
    others = {one.rank for one in ends} - failed - set(alone)
    return Left(*alone.popitem(), lost) if len(alone) == 1 and not others else None


def _is_last(seen: Store, order: int, rank: int, line: Line, hit: Hit) -> bool:
    """Whether the rank says nothing after this line, up to the one in which others lose it, or hardly anything if it
    has a log of its own."""
    lost = hit.order
    if line.source != hit.line.source:
        mine = seen.seen_of(line)
        if _GOES_ON.search(line.text) is not None:
            return False
        is_over = seen.sources[line.source].last - order <= HARDLY
        return line.rank is not None and mine.last_step < order and is_over
    if lost - order > LEFT_WITHIN:
        return False
    if line.rank is not None or line.local is not None:
        mine = seen.seen_of(line)
        last = mine.last_plain
        return mine.last_step < order and last is not None and last.number == line.number
    label = _LABEL.match(line.text) if seen.usual.is_among_the_last(line) else None
    if label is None or (label.group("bare") and rank not in seen.usual.speakers()):
        return False
    return not any(order < other < lost for other in seen.usual.lines_with(label.group("label")))
