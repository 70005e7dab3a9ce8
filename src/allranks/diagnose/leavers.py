"""A rank that says that it leaves, before the others lose it."""

from __future__ import annotations

import re
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

from allranks.diagnose.lines import Line
from allranks.diagnose.repeats import form_of
from allranks.diagnose.store import Store
from allranks.diagnose.symptom import Hit, Pattern

_KEPT = 512
_LEAVES = (
    r"(?i)\b(?:leav(?:es?|ing)|left|finish(?:ed|es|ing)?|stop(?:s|ped|ping)?|exit(?:s|ed|ing)?|done|no more|end of"
    r"|ended|ends|exhausted|out of (?:data|batches)|complete[ds]?|quit(?:s|ting)?|returning|bye|giv(?:es|ing) up"
    r"|abort(?:s|ed|ing)?|refus(?:es|ed|ing))\b"
)
_BY = (
    "leaves", "leaving", "Leaving", "left", "finished", "Finished", "finishing", "stopping", "Stopping", "stopped",
    "exiting", "Exiting", "exits", "done", "Done", "more", "end of", "ended", "exhausted", "out of", "complete",
    "completed", "returning", "bye", "Bye", "giving up", "gives up", "aborting", "Aborting", "aborted", "refusing",
)  # fmt: skip
_GIVES_UP = re.compile(
    r"(?i)\b(?:giv(?:es|ing) up|abort\w{0,3}|refus\w{2,3}|fail\w{0,4}|errors?|invalid|corrupt\w{0,3}|mismatch\w{0,2}"
    r"|differs?|damaged|broken|missing|not found|cannot|should be|exit(?:s|ing)?.{0,12} [1-9]\d{0,2})\b"
)
_LOST = re.compile(r"(?i)closed by (?:remote )?peer|reset by peer|remote process exited")
_BARE = re.compile(r"[(\[](\d{1,4})[)\]][ ]")
"""A rank as a bare number."""


class Left(NamedTuple):
    """`lost`: the lines in which others lose their peer, the first one first."""

    rank: int
    line: Line
    lost: Sequence[Hit]

    @property
    def gave_up(self) -> bool:
        """Whether it says that something is wrong, and not that it is done."""
        return _GIVES_UP.search(self.line.text) is not None


def _leaves(seen: Store, line: Line, match: Any) -> None:
    bare = _BARE.match(line.text)
    rank = int(bare.group(1)) if bare is not None and line.rank is None else seen.rank_of(line)
    if rank is not None and not (seen.left and seen.left[-1][0] == seen.count):
        seen.left.append((seen.count, rank, line))
        del seen.left[:-_KEPT]


FACTS: Tuple[Tuple[Pattern, Callable[[Store, Line, Any], None]], ...] = tuple(
    (Pattern(word, _LEAVES), _leaves) for word in _BY
)
HANDLERS = (_leaves,)


def left_alone(seen: Store, hits: Sequence[Hit], failed: Set[Optional[int]]) -> Optional[Left]:
    """The only rank that says that it leaves, in words that no other rank uses, before others lose their peer (`hits`),
    and that is not among the ranks that `failed`."""
    lost = sorted((hit for hit in hits if _LOST.search(hit.line.text)), key=lambda hit: hit.order)
    if not lost:
        return None
    told: Dict[Tuple[str, ...], List[Tuple[int, Line]]] = {}
    for order, rank, line in seen.left:
        if order < lost[0].order and (line.rank is not None or rank in seen.usual.speakers()):
            told.setdefault(form_of(_BARE.sub("", line.text, 1)), []).append((rank, line))
    alone = dict(same[0] for same in told.values() if len(same) == 1 and same[0][0] not in failed)
    return Left(*alone.popitem(), lost) if len(alone) == 1 else None
