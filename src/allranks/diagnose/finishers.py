"""All ranks say at last, in the same words, that they are done: no error before that ended one of them."""

from __future__ import annotations

import re
from collections import Counter
from typing import Dict, List, NamedTuple, Optional

from allranks.diagnose.alone import Alone
from allranks.diagnose.counting import is_logged
from allranks.diagnose.lines import Line
from allranks.diagnose.speakers import LOOKED_AT, by_rank

LAST = 4
"""One of so many last lines of a rank says that it is done. Rank 0 often saves and reports something after that."""

AFTER = 3
"""The least lines of one form that each rank prints after an error if it works on. A program that fails may clean up
and say that it is finished, too, but it says nothing again and again."""

SOON = 24
"""The most lines of a log after that. Others may follow if a part of the job was done."""

TURNS = 2
"""So many times each rank takes a turn among printed lines that wait in no buffer. A buffer makes one piece of each."""

_DONE = re.compile(
    r"(?i)(?<![a-z])(?:finished|done|completed?|ended|beendet|fertig|abgeschlossen|termin(?:\u00e9|ado|ato|ada|ata)"
    r"|fini|listo)(?![a-z])|\u5b8c\u6210|\u7ed3\u675f|\u5b8c\u4e86|\u7d42\u4e86|\u0437\u0430\u0432\u0435\u0440\u0448"
    r"|\u0433\u043e\u0442\u043e\u0432\u043e"
)
_BUT = re.compile(
    r"(?i)fail|error|abort|interrupt|kill|stopped|early|timed? ?out|exception|cancel"
    r"|(?<![a-z])(?:not|un|exit|code|status)"
    r"|prepar|preproc|tokeni|load|staging|warm|init|epoch|phase|valid|eval|setup|cach|trial"
)
"""Then the job did not succeed, or only a part of it is done."""

_ENDED = re.compile(
    r"(?i)\b(?:rc|(?:exit )?codes?|status(?:es)?|returned)\b.{0,60}?(?<![\d.])-?[1-9]"
    r"|fail|not all|error|killed|core dumped"
)
_DIGITS = re.compile(r"\d{1,40}")


class Finish(NamedTuple):
    """The lines in which the ranks say that they are done. `lines`: those that each rank prints, in their order."""

    done: Dict[int, Line]
    lines: Dict[int, List[Line]]


def finished_after(seen: Alone, line: Line) -> bool:
    """Whether all ranks work on after this line of the same log, and then say in the same words that they are done."""
    finish: Optional[Finish] = seen.samples.once("finish", seen.count, lambda: _all_finished(seen))
    if finish is None or not line.number:
        return False
    mine = {rank: done for rank, done in finish.done.items() if done.source == line.source}
    if not mine or any(done.number <= line.number for done in mine.values()):
        return False
    if seen.is_single and len(mine) < len(finish.done):
        return False
    raised = [one.line.number for _, one in seen.raised() if one.line.source == line.source]
    last = max([line.number, *(number for number in raised if number < min(d.number for d in mine.values()))])
    later = {
        rank: [one for one in finish.lines[rank] if one.source == line.source and one.number > last]
        for rank in mine
    }
    return all(map(_repeats, later.values())) and _wait_in_no_buffer(later)


def _repeats(lines: List[Line]) -> bool:
    """Whether a rank prints one form of line again and again, as it does while it works."""
    forms = Counter(_DIGITS.sub("0", line.text) for line in lines)
    return max(forms.values(), default=0) >= AFTER


def _all_finished(seen: Alone) -> Optional[Finish]:
    told = by_rank(seen)
    if len(told) < 2 or not seen.world <= set(told) or set(told) != set(range(len(told))):
        return None
    found = {rank: _said_by(lines) for rank, lines in told.items()}
    common = set.intersection(*(set(said) for said in found.values()))
    if not common:
        return None
    words = min(common)
    done = {rank: said[words] for rank, said in found.items()}
    return Finish(done, told) if _ends_with(seen, list(done.values())) else None


def _ends_with(seen: Alone, done: List[Line]) -> bool:
    """Whether nothing fails after these lines, and the logs end with them."""
    last = {
        source: max(one.number for one in done if one.source == source)
        for source in {one.source for one in done}
    }
    if any(one.line.number > last.get(one.line.source, -1) for _, one in seen.raised()):
        return False
    if any(one.code and one.line.number > last.get(one.line.source, -1) for one in seen.exits):
        return False
    if not seen.is_single:
        return True
    if seen.usual.number - last.get(done[0].source, 0) > SOON:
        return False
    rest = seen.samples.lines(True, seen.usual.number)
    return not any(line.number > last[line.source] and _ENDED.search(line.text) for line in rest)


def _said_by(lines: List[Line]) -> Dict[str, Line]:
    """The beginnings of the last lines that say that the rank is done, up to the word for it."""
    said: Dict[str, Line] = {}
    logs: Dict[Optional[str], List[Line]] = {}
    for line in lines:
        logs.setdefault(line.source, []).append(line)
    for line in (one for log in logs.values() for one in log[-LAST:]):
        done = _DONE.search(line.text, 0, LOOKED_AT)
        if done is not None and _BUT.search(line.text, 0, LOOKED_AT) is None:
            said[_DIGITS.sub("0", line.text[: done.end()])] = line
    return said


def _wait_in_no_buffer(lines: Dict[int, List[Line]]) -> bool:
    """Whether loggers wrote these lines, or the ranks take turns."""
    if all(is_logged(line) for mine in lines.values() for line in mine):
        return True
    every = sorted((line.number, rank) for rank, mine in lines.items() for line in mine)
    turns: List[int] = [rank for n, (_, rank) in enumerate(every) if not n or every[n - 1][1] != rank]
    return len(lines) > 1 and all(turns.count(rank) > TURNS for rank in lines)
