"""Which rank printed the lines that a log begins and ends with, also if only a program's own label tells it: `(2) `,
`r2 I`, `host2:`, a file `trainer-2.out` beside others of which it is known.
"""

from __future__ import annotations

import re
from collections import Counter
from os.path import basename
from typing import Dict, Iterable, List, Optional, Set, Tuple

from allranks.diagnose.alone import Alone
from allranks.diagnose.introductions import CLOCK, introduced
from allranks.diagnose.introductions import rank_of as introduced_as
from allranks.diagnose.lines import Line
from allranks.diagnose.store import Store

RANKS = 3
"""From so many numbers on, each from 0 on, a label is taken for that of a rank."""

FEW = 16
"""In more lines than this, a rank prints several."""

LOOKED_AT = 400
COUNTS = re.compile(
    r"(?i)(?<![a-z])(?:(?:time|micro)?steps?|epochs?|iter\w{0,8}|batch|round|updates?|chunk|fold|trial|layer|block"
    r"|shard|part|version|try|loss|attempt|v|line|column|char|gpus?|experts?|group|class|heads?|bucket|device|stage"
    r"|env|seed|cuda|level|item|request|image|file|sample|row|port|pid|channel|coll)[\W_]{0,3}$"
)
"""The words before a number that counts something, and does not say who prints the line."""

_LABEL = re.compile(r"[^\d\n]{0,48}?(\d{1,4})(?![\d.])")
_TRIED = 3
"""The rank is among so many first numbers of a line: those that count something are left out."""

_NAMED = re.compile(r"(?i)(?<![a-z])(?<!local_)(?<!local )(?:node[-_ ]?)?rank[ =:]{1,2}(\d{1,4})\b")
_RANK = re.compile(r"(?i)(?:rank|node|host|worker|proc(?:ess)?|trainer)[\W_]{0,3}$")
_BAR = "%|"
"""In a bar of tqdm, in which each process is at another place."""

_LIBRARY = re.compile(
    r"NCCL (?:INFO|WARN)|\w\.(?:cpp|cc|h):\d{1,5}\]|\[c10d\]|ProcessGroup|torch/distributed|Timed out|by peer"
)
"""In lines that torch prints of its connections, which differ from rank to rank."""

_NUMBER = re.compile(r"\d{1,6}")


def by_rank(seen: Alone) -> Dict[int, List[Line]]:
    """The kept lines of each rank, in their order."""
    told: Dict[int, List[Line]] = seen.samples.once("ranks", seen.count, lambda: _by_rank(seen))
    return told


def quiet_rank(seen: Alone) -> Optional[int]:
    """The only rank that complains of no other and raised nothing; if all known ones do, the only number that is
    missing among them. If there is a rank 2, there is a rank 1."""
    quiet = quiet_ranks(seen)
    known = seen.world | set(by_rank(seen))
    if not quiet and len(known) > 1:
        quiet = set(range(max(known))) - known
    return next(iter(quiet)) if len(quiet) == 1 else None


def quiet_ranks(seen: Alone) -> Set[int]:
    """The ranks that complain of no other and raised nothing, if others do."""
    crashed = {rank for rank, _ in seen.raised() if rank is not None}
    blamers = seen.blamers()
    return (seen.world | set(by_rank(seen))) - blamers - crashed if blamers or crashed else set()


def only_rank_on(seen: Alone, node: str) -> Optional[int]:
    """The rank of a machine that has one."""
    ranks = {rank for rank, lines in by_rank(seen).items() if any(line.node == node for line in lines)}
    return ranks.pop() if len(ranks) == 1 else None


def owner(seen: Alone, log: Optional[str]) -> Optional[int]:
    """The only rank that printed the lines of this log, if there are several logs."""
    known = owners(seen).get(log)
    if known is None and len(seen.sources) > 1:
        ranks = {rank for rank, lines in by_rank(seen).items() if any(line.source == log for line in lines)}
        known = ranks.pop() if len(ranks) == 1 else None
    return known


def owners(seen: Store) -> Dict[Optional[str], int]:
    """The rank of each of several logs that has only one; if no line of a log names it, by the names of the others."""
    if len(seen.sources) < 2:
        return {}
    if not seen.ranks and any(one.communication for _, one in seen.raised()):
        return _numbered(seen.sources)
    return _owners({rank: state.source for rank, state in seen.ranks.items()}, seen.sources)


def _numbered(names: Iterable[Optional[str]]) -> Dict[Optional[str], int]:
    """The ranks of logs that lost each other, by their names alone, if these differ in one number, from 0 on."""
    forms: Dict[str, Dict[Optional[str], int]] = {}
    for name in names:
        for number in _numbers(name):
            if COUNTS.search((name or "")[: number.start()]) is None:
                forms.setdefault(_form(name, number), {})[name] = int(number.group())
    whole = [one for one in forms.values() if len(one) > 1 and sorted(one.values()) == list(range(len(one)))]
    return whole[0] if len(whole) == 1 else {}


def _of_nodes(seen: Store) -> Dict[Optional[str], int]:
    """The same for machines."""
    return _owners({rank: state.node for rank, state in seen.ranks.items() if state.node}, seen.nodes)


def _owners(places: Dict[int, Optional[str]], names: Iterable[Optional[str]]) -> Dict[Optional[str], int]:
    times = Counter(places.values())
    known = {place: rank for rank, place in places.items() if times[place] == 1}
    forms = Counter(form for place, rank in known.items() for form in _forms(place, rank))
    for name in set(names) - set(times):
        told = {
            rank
            for (form, less), count in forms.items()
            if count > 1 or not less
            for rank in _ranks(name, form, less)
        }
        if len(told) == 1 and told.isdisjoint(places):
            known[name] = told.pop()
    return known


def _numbers(name: Optional[str]) -> "Iterable[re.Match[str]]":
    return _NUMBER.finditer(name or "", len(name or "") - len(basename(name or "")))


def _form(name: Optional[str], number: "re.Match[str]") -> str:
    text = name or ""
    return text[: number.start()] + "#" + text[number.end() :]


def _forms(name: Optional[str], rank: int) -> List[Tuple[str, int]]:
    """A name but for each of its numbers, with what the number is larger than the rank: 0 or 1."""
    found = [(_form(name, number), int(number.group()) - rank) for number in _numbers(name)]
    return [(form, more) for form, more in found if more in (0, 1)]


def _ranks(name: Optional[str], form: str, more: int) -> List[int]:
    return [int(number.group()) - more for number in _numbers(name) if _form(name, number) == form]


def _by_rank(seen: Alone) -> Dict[int, List[Line]]:
    lines = seen.samples.lines(seen.is_single, seen.usual.number)
    if not seen.is_single:
        known = {(line.source, line.number) for line in lines}
        last = (one.last_plain for one in (*seen.ranks.values(), *seen.streams.values()))
        lines += [line for line in last if line is not None and (line.source, line.number) not in known]
    lines = [line for line in lines if _BAR not in line.text and _LIBRARY.search(line.text) is None]
    of_log, of_node, several = owners(seen), _of_nodes(seen), not seen.is_single
    by_name = introduced(lines, several)
    seen.samples.names = frozenset(name for kind, name in by_name if kind != "log")
    told: Dict[int, List[Line]] = {}
    bare: List[Line] = []
    for line in lines:
        rank = seen.rank_of(line)
        rank = of_log.get(line.source) if rank is None else rank
        rank = of_node.get(line.node or line.text.partition(" ")[0]) if rank is None else rank
        rank = introduced_as(line, by_name, several) if rank is None else rank
        if rank is None:
            bare.append(line)
        else:
            told.setdefault(rank, []).append(line)
    for rank, mine in _labelled(bare, max(seen.world, default=0) + 1, set(told)).items():
        told.setdefault(rank, []).extend(mine)
    return told


_BRACKETS = "[(<"
"""The beginnings of a label that a prefix, learned from a later line, takes away from the lines of other ranks."""


def _labelled(lines: List[Line], least: int, others: Set[int]) -> Dict[int, List[Line]]:
    """The lines of each rank, by the number behind `rank`, or by the first one. It is a rank if lines with the
    same words before it have each number from 0 on, and at least so many, and if it does not only rise. `others`: the
    ranks that are known by something else."""
    groups: Dict[str, List[Tuple[int, Line]]] = {}
    for line in lines:
        for piece in _pieces(line):
            number, before = _label_of(piece)
            if number >= 0:
                groups.setdefault(before, []).append((number, piece))
    told: Dict[int, List[Line]] = {}
    for before, group in groups.items():
        times = Counter(number for number, _ in group)
        known = set(times)
        if known != set(range(len(known))) and len(group) > FEW:
            # Two lines in one may make another number.
            known = {number for number in times if times[number] > 1}
        numbers = [number for number, _ in group if number in known]
        every = known | others if all(line.text[:1] in _BRACKETS for _, line in group) else known
        count = len(every)
        if count < max(RANKS, least) or every != set(range(count)):
            continue
        if len(numbers) == count and numbers == sorted(numbers) and not _RANK.search(before):
            continue  # this may be a list
        for number, line in group:
            if number in known:
                told.setdefault(number, []).append(line)
    return told


def _pieces(line: Line) -> List[Line]:
    """The lines that several ranks wrote into one. Each begins with a label of one kind, and no space before it."""
    label = _LABEL.match(line.text)
    before = line.text[: label.start(1)] if label is not None else ""
    if label is None or not before.strip():
        return [line]
    again = re.compile(r"(?<=\S)" + re.escape(before) + r"\d{1,4}" + re.escape(line.text[label.end() :][:1]))
    starts = [0, *(found.start() for found in again.finditer(line.text, label.end(), LOOKED_AT))]
    ends = [*starts[1:], len(line.text)]
    return [line._replace(text=line.text[start:end]) for start, end in zip(starts, ends)]


def _label_of(line: Line) -> Tuple[int, str]:
    """The number that may be the rank of the line, and what tells labels of one kind from others; -1 if there is
    none."""
    text = f"{line.node}: {line.text}" if line.node else line.text  # a machine's name may only hold the rank
    named = _NAMED.search(text, 0, LOOKED_AT)
    if named is not None:
        return int(named.group(1)), "rank"
    clock = CLOCK.match(text)
    start = at = clock.end() if clock is not None else 0
    for _ in range(_TRIED):
        label = _LABEL.match(text, at)
        if label is None:
            break
        before = text[start : label.start(1)]
        if COUNTS.search(before) is None:
            return int(label.group(1)), _NUMBER.sub("0", before)
        at = label.end()
    return -1, ""
