"""Which rank, node or GPU a diagnosis names: by the places of lines, what they say, and ends of processes."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import List, Optional, Set, Tuple

from allranks.core import Where
from allranks.diagnose.catalogue import cause, complaints
from allranks.diagnose.complaints import NEAR_THE_END, complainants, near_the_end
from allranks.diagnose.differences import Difference, only_one_differs
from allranks.diagnose.evidence import Evidence
from allranks.diagnose.kept_hits import HITS_PER_SYMPTOM
from allranks.diagnose.lines import Line
from allranks.diagnose.prefixes import is_name
from allranks.diagnose.speakers import RANKS, by_rank, only_rank_on, owner, quiet_rank, quiet_ranks
from allranks.diagnose.store import Exit
from allranks.diagnose.streams import Raised
from allranks.diagnose.symptom import Case
from allranks.diagnose.symptoms.collective_timeout_straggler import awaited
from allranks.diagnose.symptoms.rank_sigkilled import forced_kills


def hit_ranks(seen: Evidence, case: Case) -> List[int]:
    """The ranks of these lines; of more lines than are kept, all that printed one."""
    ranks = {seen.rank_of(h.line) for h in case.hits}
    if len(seen.hits.get(case.symptom, ())) >= HITS_PER_SYMPTOM:
        ranks |= seen.hit_ranks.get(case.symptom, set())
    return sorted(r for r in ranks if r is not None)


def where_of(seen: Evidence, case: Case) -> Tuple[Where, int]:
    """The culprit; and if most ranks show the same, their number (then no rank is named)."""
    place, everywhere = _where_of(seen, case)
    sizes = {size for group in seen.world_sizes.values() for size in group}
    if place.rank is not None and len(sizes) == 1 and place.rank >= next(iter(sizes)):
        return replace(place, rank=None), everywhere  # the name of a file may hold another kind of rank
    return place, everywhere


def _where_of(seen: Evidence, case: Case) -> Tuple[Where, int]:
    line = case.hits[0].line if case.hits else Line("")
    place = Where(file=line.source, line=line.number or None)
    if cause(case.symptom).healthy:
        return place, 0
    node = case.node or next((h.group("node") for h in case.hits if h.group("node")), None)
    if case.rank is not None or node is not None:
        if node is None and case.rank in seen.ranks:
            node = seen.ranks[case.rank].node
        return Where(node=node, rank=case.rank, file=place.file, line=place.line), 0
    waited_for = awaited(seen) if cause(case.symptom).hearsay else []
    if len(waited_for) == 1 and set(hit_ranks(seen, case)) <= {*seen.awaited.values()}:
        return _place_of(seen, place, waited_for[0]), 0
    named = {int(h.group("rank") or 0) for h in case.hits if h.group("rank")}
    if len(named) == 1:
        return _place_of(seen, place, named.pop()), 0
    if case.only_suffered:
        return place, 0
    return _where_the_lines_are(seen, case, line, place, named)


def _where_the_lines_are(
    seen: Evidence, case: Case, line: Line, place: Where, named: Set[int]
) -> Tuple[Where, int]:
    ranks = set(hit_ranks(seen, case))
    nodes = {seen.node_of(h.line) for h in case.hits}
    if len(ranks) > 1 and 2 * len(ranks) > max(len(seen.world), max(ranks) + 1):
        return place, len(ranks)
    if len(ranks) != 1 and len(nodes) == 1 and len(seen.nodes) > 1:
        only = None if ranks or cause(case.symptom).is_blame else _owner(seen, case)
        return Where(node=next(iter(nodes)), rank=only, file=place.file, line=place.line), 0
    row = None if ranks or cause(case.symptom).is_blame else _of_row(seen, case)
    if row is not None:
        return replace(place, rank=row.rank, node=row.node), 0
    if not ranks and len(nodes) > 1:
        return place, 0
    if not ranks and not cause(case.symptom).is_blame:
        named = named or _told_ranks(case) or _told_above(seen, case) or _told_beside(seen, case)
        only = named.pop() if len(named) == 1 else _only_failed(seen, line.source)
        only = _without_complaint(seen, case) if only is None else only
        only = _owner(seen, case) if only is None else only
        if only is not None:
            return _place_of(seen, place, only), 0
    first = next((h.line for h in case.hits if seen.rank_of(h.line) is not None), line)
    node, rank = seen.node_of(first), seen.rank_of(first)
    if node is None and rank is None and not cause(case.symptom).is_blame:
        node = _told_node(seen, case)
    return Where(node=node, rank=rank, file=first.source, line=first.number or None), 0


def _owner(seen: Evidence, case: Case) -> Optional[int]:
    """The rank whose log has all of these lines."""
    logs = {hit.line.source for hit in case.hits}
    return owner(seen, logs.pop()) if len(logs) == 1 else None


def compared(seen: Evidence, case: Case, where: Where) -> Tuple[Case, Where]:
    """The case and its place, if the lines in which the ranks differ show which rank it is, or confirm it. A rank that
    is only found so is likely."""
    known = cause(case.symptom)
    if where.node is not None and where.rank is None:
        tells_rank = known.by_comparison or known.hearsay or known.of_ranks
        return case, replace(where, rank=only_rank_on(seen, where.node)) if tells_rank else where
    is_open = where.rank is None
    if is_open and known.by_kill:
        return case, _place_of(seen, where, quiet_rank(seen))
    # The rank of a thread goes on after its exception, and waits for it.
    of_thread = is_open and any(one.of_thread for one in _raised_in(seen, case))
    if known.healthy or not (known.by_comparison or known.hearsay or of_thread):
        return case, where
    other = only_one_differs(seen)
    only_hears = known.is_blame or of_thread or (known.hearsay and not known.of_ranks)
    quiet = quiet_ranks(seen) if only_hears and not of_thread else set()
    if is_open and quiet and (other is None or other.rank not in quiet):
        only = next(iter(quiet)) if len(quiet) == 1 else None
        return case, where if known.is_blame and _lived(seen, only) else _place_of(seen, where, only)
    if other is None or not (is_open or other.rank == where.rank):
        return case, where
    if is_open and only_hears and not quiet and _is_natural(seen, other):
        return case, where
    if is_open and known.of_ranks and _OF_MEETING.search(other.before) is None:
        return case, where
    if is_open and other.rank == 0 and {other.value, other.usual} <= _YES_AND_NO:
        return case, where
    told = any(other.said in note for note in case.notes) and not other.others
    notes = case.notes if told or other.note in case.notes else (*case.notes, other.note)
    sure = "likely" if is_open else case.confidence
    return case._replace(notes=notes, confidence=sure), _place_of(seen, where, other.rank)


_YES_AND_NO = frozenset(("0", "1", "True", "False", "true", "false", "yes", "no", "on", "off", "master"))
"""Rank 0 often says that it is the one that logs or saves."""

_OF_MEETING = re.compile(
    r"(?i)(?:nnodes|world\w{0,8}|size|nproc\w{0,12}|port|addr\w{0,6}|head|master|endpoint|nodes?|of|/|:)[\W_]{0,3}$"
)
"""The words before a number on which it depends whether ranks find each other."""


def _is_natural(seen: Evidence, other: Difference) -> bool:
    """Whether ranks often differ so, and this alone does not show why they lost each other: the last one has the rest
    of the data, rank 0 has more to do, small numbers of two ranks agree by chance."""
    if other.is_far or not other.others or other.rank == 0:
        return True
    value, usual = _number(other.value), _number(other.usual)
    if value is None or usual is None:
        return False
    is_last = other.rank == max(by_rank(seen), default=0)
    few = len(by_rank(seen)) == RANKS and max(value, usual) < SMALL and other.times == 1
    return (is_last and value < usual) or few


def _number(text: str) -> Optional[float]:
    try:
        return float(text)
    except ValueError:
        return None


def _lived(seen: Evidence, rank: Optional[int]) -> bool:
    """Whether a launcher had to end this rank, or may have had to: then it is not the one that the others lost."""
    ended = any(one.rank == rank and one.code == -15 for one in seen.exits)
    return ended or seen.still_lived() or bool(seen.step_ended)


def _raised_in(seen: Evidence, case: Case) -> List[Raised]:
    """The exceptions among the lines of this case."""
    orders = {hit.order for hit in case.hits}
    return [one for _, one in seen.raised() if one.order in orders]


def _place_of(seen: Evidence, place: Where, rank: Optional[int]) -> Where:
    """A rank that a text names, with its node, if the logs tell that."""
    if rank is None:
        return place
    ends = {e.node for e in seen.exits if e.rank == rank and e.node is not None}
    node = seen.node_of(Line("", rank)) or (ends.pop() if len(ends) == 1 else None)
    return replace(place, rank=rank, node=node)


SMALL = 10
"""Of three ranks two often have the same number below this."""

_TOLD = re.compile(
    r"(?i)(?<![a-z])(?<!from )(?<!to )(?<!with )(?<!of )(?<!local[_ ])(?<!node[_ ])(?<!lora[_ ])(?:global[_ ])?"
    r"rank(?:[_ ]?id)?[\"']?[ ]?[:=\[]?[ ]?(\d{1,6})\b"
)


_TOLD_NODE = re.compile(
    r"(?i)(?<![a-z-])(?:(?:compute )?node(?: ?name)?|host(?: ?name)?|machine|worker|server|instance|pod"
    r"|(?:ip )?address|ip|ssh(?:ing)? to"
    r"|connect to (?:\w{1,12} at )?(?:address )?)[ ]?[:=]?[ ]?[\"'`(]?([A-Za-z\d][\w.-]{1,80}[A-Za-z\d])"
    r"(?!\w{0,20}://)"
)
"""A machine that a text names: `on node gpu-7`, `host: 10.0.0.5`, `SSH to worker-3`."""


def _told_node(seen: Evidence, case: Case) -> Optional[str]:
    """The only machine that the lines name in their text; in a short text also the only one that other complaints
    name, or that any prefix names."""
    texts = [[hit.line.text for hit in case.hits]]
    named: Set[str] = set()
    if seen.count <= NEAR_THE_END:
        every = (*seen.ranks.values(), *seen.streams.values())
        texts.append([one.line.text for one in near_the_end(every, seen.count)])
        sources = {hit.line.source for hit in case.hits}
        named = {one.node for one in every if one.node is not None and one.source in sources}
    for lines in texts:
        told = {name for text in lines for name in _TOLD_NODE.findall(text) if is_name(name)}
        if told:
            return told.pop() if len(told) == 1 else None
    return next(iter(named)) if len(named) == 1 else None


def _told_ranks(case: Case) -> Set[int]:
    """The ranks that the lines name in their text: a runtime that knows its rank says it there (`RankID:3`)."""
    return {int(number) for hit in case.hits for number in _TOLD.findall(hit.line.text)}


def _told_above(seen: Evidence, case: Case) -> Set[int]:
    """The ranks named above the tracebacks of these lines (`Process w2:`)."""
    return {one.named for one in _raised_in(seen, case) if one.named is not None}


def _told_beside(seen: Evidence, case: Case) -> Set[int]:
    """The ranks that complaints on this cause's subject name in a short text; the only one that any complaint names, if
    no other line has a rank."""
    if seen.count > NEAR_THE_END:
        return set()
    every = near_the_end((*seen.ranks.values(), *seen.streams.values()), seen.count)
    texts = [one.line.text for one in every if _TOLD.search(one.line.text)]
    mine = [t for t in texts if any(name == case.symptom for _, _, name in complainants(complaints(), t))]
    if not (mine or seen.ranks or cause(case.symptom).hearsay):
        mine = texts
    return {int(number) for text in mine for number in _TOLD.findall(text)}


def _of_row(seen: Evidence, case: Case) -> "Optional[Exit]":
    """The end of a process, if one of the case's own lines reports it (`srun: error: node1: task 0: Out Of Memory`)."""
    lines = {(hit.line.source, hit.line.number) for hit in case.hits if hit.line.number}
    told = [e for e in seen.exits if e.rank is not None and (e.line.source, e.line.number) in lines]
    return told[0] if len({e.rank for e in told}) == 1 else None


def _only_failed(seen: Evidence, source: Optional[str]) -> Optional[int]:
    """The only rank that printed a traceback in this log, else the only one in a table of failures, unless it only lost
    or missed a peer."""
    raised = {rank for rank, state in seen.ranks.items() if state.headed and state.source == source}
    one = raised or {_rank_of(seen, e) for e in seen.exits if e.code not in (0, -15)}
    return next(iter(one)) if len(one) == 1 and not one & seen.blamers() else None


def _without_complaint(seen: Evidence, case: Case) -> Optional[int]:
    """The only rank that does not complain of others, if all of them began to after this traceback. The exception of a
    thread names no rank, and the rank only waits."""
    quiet = quiet_rank(seen) if any(one.frames for one in _raised_in(seen, case)) else None
    if quiet is None or len(seen.sources) > 1:
        return None
    blamed = [hit.order for name, hits in seen.hits.items() if cause(name).hearsay for hit in hits]
    begun = [one.order for _, one in seen.raised() if one.communication] + blamed
    return quiet if begun and case.hits[0].order < min(begun) else None


def _rank_of(seen: Evidence, one: Exit) -> Optional[int]:
    """The rank of a process that ended, also where its launcher names only its local rank."""
    if one.rank is not None:
        return one.rank
    return seen.rank_of(Line("", None, one.node, one.line.source, None, one.local))


def where_ended(seen: Evidence) -> Where:
    """Where a process failed, if nothing says why: the only rank that failed and was not just told to stop, else the
    one that torchrun saw first."""
    forced = forced_kills(seen)
    bad = [e for number, e in enumerate(seen.exits) if e.code not in (0, -15) and number not in forced]
    ranks = {_rank_of(seen, e) for e in bad}
    rank = ranks.pop() if len(ranks) == 1 else seen.root_cause
    mine = [e for e in bad if _rank_of(seen, e) == rank] or [e for e in seen.exits if e.code != 0]
    return Where(node=mine[0].node if mine else None, rank=rank)
