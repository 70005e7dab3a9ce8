"""From evidence to one diagnosis: which symptom is the cause, which ranks only suffered.

The rules are those of the signatures' page: a specific text before a generic crash, a crash before ranks that
blame each other, among equals the earliest; a symptom that another one explains is dropped; what many steps of
training followed is not what ended the run.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Dict, List, Optional, Sequence, Set, Tuple

from allranks.core import Diagnosis, Where
from allranks.core.causes import NEVER as NEVER_AGAIN
from allranks.core.causes import UNPROVEN
from allranks.core.secret_forms import without_secrets
from allranks.diagnose.catalogue import cause, claims, complaints, modules, section, title
from allranks.diagnose.complaints import SAID, Heard, complainants, first_known, near_the_end
from allranks.diagnose.culprits import compared, hit_ranks, where_ended, where_of
from allranks.diagnose.evidence import Evidence
from allranks.diagnose.fragments import announces, cut_off, in_words, quoted
from allranks.diagnose.last_words import last_words
from allranks.diagnose.lines import Line, clean
from allranks.diagnose.set_aside import warns
from allranks.diagnose.signals import Signal, Texts, order, ranked
from allranks.diagnose.source_lines import is_source
from allranks.diagnose.streams import Raised
from allranks.diagnose.symptom import BARE, CRASH, ECHO, HEARD, HINTED, NO_TIME, PROVEN, STALE, Case, Hit
from allranks.diagnose.symptoms.rank_crashed_first import CAUSE as RANK_CRASHED_FIRST
from allranks.diagnose.symptoms.rank_crashed_first import judge as crashed
from allranks.diagnose.symptoms.rank_crashed_first import taken
from allranks.diagnose.unknown_errors import by_words, owners, reworded
from allranks.diagnose.wordings import words

EVIDENCE_LINES = 8


def conclude(seen: Evidence) -> Diagnosis:
    """The diagnosis of everything that was fed in."""
    found = ranked((), Texts(lambda: weighed(seen)))
    if seen.explains and (found.weight <= HINTED or "page" in seen.words):
        return _unproven(seen)
    case = in_words(seen, RANK_CRASHED_FIRST.id) if found.weight <= HINTED and not seen.is_document else None
    claim = claims().get(case.symptom) if case is not None else None
    if (
        case is not None
        and found.weight > STALE
        and (claim is None or claim.general or announces(case.hits[0].line.text))
    ):
        case = None  # a complaint on a general subject says no less
    case = _reworded(case)
    if case is None and found.diagnosis.cause == UNPROVEN:
        case = by_words(seen, RANK_CRASHED_FIRST.id)
    if case is None and (found.diagnosis.cause == UNPROVEN or cause(found.diagnosis.cause).healthy):
        case = last_words(seen, RANK_CRASHED_FIRST.id)
    if case is None or (case.hits and all(map(seen.is_past, case.hits))):
        return found.diagnosis
    return _left_behind(seen, case) if seen.left_behind(case.hits) else _diagnosis(seen, case, False)


def _reworded(case: Optional[Case]) -> Optional[Case]:
    """The case of a statement in plain words. Words beside its subject may decide its cause."""
    if case is None or case.symptom == RANK_CRASHED_FIRST.id:
        return case
    symptom = reworded(case.symptom, case.hits[0].line.text, RANK_CRASHED_FIRST.id)
    return None if symptom == UNPROVEN else case._replace(symptom=symptom)


def weighed(seen: Evidence) -> Signal:
    """The heaviest signal of the lines; of weight 0 if nothing names a cause."""
    cases = find_cases(seen)
    if not cases:
        return Signal(0, _unproven(seen))
    chosen = cases[0]
    healthy = next((c for c in cases if cause(c.symptom).healthy), None)
    if chosen.weight <= STALE:
        if healthy is None:
            return Signal(0, _left_behind(seen, chosen))
        chosen = healthy
    rivals = [c for c in cases if c is not chosen and c.weight == chosen.weight]
    return Signal(chosen.weight, _diagnosis(seen, chosen, bool(rivals) or _doubted(seen, chosen, cases)))


RIVAL = 88
"""The least weight of a case that raises a doubt about a later and heavier one."""


def _doubted(seen: Evidence, chosen: Case, cases: Sequence[Case]) -> bool:
    """Whether something else failed before a case that its text alone proves: an exception that this cause does not
    know, or another cause that is nearly as clear. The kernel's report of a device proves itself."""
    known = cause(chosen.symptom)
    if chosen.hits and all(seen.may_be_old(hit) for hit in chosen.hits):
        return True
    if chosen.weight >= PROVEN or not chosen.hits or known.is_blame or known.kernel is not None:
        return False
    if not known.outlasts_the_end and seen.goes_on_after(chosen.hits):
        return True
    begun = _moment(seen, chosen.hits)
    others = [
        c for c in cases if c.weight >= RIVAL and c.symptom != chosen.symptom and cause(c.symptom).says_why
    ]
    if any(_moment(seen, c.hits) < begun for c in others):
        return True
    is_told = not any(one.order == hit.order for hit in chosen.hits for _, one in seen.raised())
    return len(seen.sources) == 1 and any(
        (one.order < begun[1] or (is_told and is_of_program(one)))
        and not (one.communication or chosen.symptom in one.known or seen.survived(one))
        for _, one in seen.raised()
        if not one.line.text.endswith(":") and ": Caught " not in one.line.text  # whose message goes on
    )


PROGRAMS_OWN = ("AttributeError", "IndexError", "KeyError", "NameError", "TypeError", "UnboundLocalError")


def is_of_program(one: Raised) -> bool:
    """Whether an exception is a mistake of a program, which no fault of a machine brings about."""
    return bool(one.frames) and not one.known and one.kind in PROGRAMS_OWN


def others(seen: Evidence, told: Diagnosis, most: int = 3) -> List[Tuple[str, str]]:
    """Other causes in these lines, as (cause, evidence). They are lighter than the diagnosis and not its echo."""
    cases = [c for c in find_cases(seen) if c.weight > STALE and c.symptom != told.cause and c.hits]
    cases = [c for c in cases if not cause(c.symptom).is_blame]
    return [(c.symptom, _labelled(seen, c.hits[0].line, c.hits[0].start)) for c in cases[:most]]


def find_cases(seen: Evidence) -> List[Case]:
    """All symptoms' cases, the likeliest cause first."""
    if seen.is_document:
        return []
    found: Dict[str, Case] = {}
    for symptom, module in modules().items():
        judge = getattr(module, "judge", None)
        case = judge(seen) if judge is not None else seen.case(symptom)
        if case is not None:
            known = cause(symptom)
            ended_well = seen.ended_well and not known.outlasts_the_end
            if case.hits and all(map(seen.survived if ended_well else seen.is_past, case.hits)):
                case = case._replace(weight=min(case.weight, STALE))
            if case.weight >= CRASH and _only_announced(seen, case):
                case = case._replace(weight=CRASH - 1)
            ends = not (known.healthy or known.is_blame or known.kernel or known.outlasts_the_end)
            if (ends and seen.only_warned(case.hits)) or seen.worked_on(case.hits):
                continue
            found[symptom] = _aged(seen, case) if ends and case.weight > STALE else case
    _crash(seen, found)
    _claim(seen, found)
    _hear(seen, found)
    for symptom, case in list(found.items()):
        for explained in cause(symptom).explains if case.weight > STALE else ():
            if explained.id in found and found[explained.id].weight <= case.weight:
                del found[explained.id]
    first = {w: min(cause(c.symptom).kind for c in found.values() if c.weight == w) for w in _weights(found)}
    left = [c for c in found.values() if c.weight <= STALE or cause(c.symptom).kind == first[c.weight]]
    return sorted(left, key=lambda c: order(c.weight, _moment(seen, c.hits)))


SHARED = 4
"""The least letters of a word that a warning and an exception share if they may be about the same."""

_OF_ANY = frozenset((
    "error", "fail", "user", "warn", "torch", "tensor", "python", "model", "train", "value", "expect", "input",
    "number", "packag", "site", "home", "call", "self", "return", "raise", "found", "with", "have", "will", "when",
    "argument",
))  # fmt: skip
"""Words of warnings and exceptions on any subject."""


def _only_announced(seen: Evidence, case: Case) -> bool:
    """Whether these lines only warn, and an exception that is about something else ended the program later."""
    if not case.hits or not all(hit.warned for hit in case.hits):
        return False
    last = max(hit.order for hit in case.hits)
    told = [word for hit in case.hits for word in words(hit.line.text)]
    warned = {word for word in told if len(word) >= SHARED} - _OF_ANY
    later = [one for _, one in seen.raised() if one.order > last and not seen.survived(one)]
    return any(
        one.frames
        and not (one.known or one.communication)
        and warned.isdisjoint(words(f"{one.line.text} {one.code} {one.context}"))
        for one in later
    )


def _aged(seen: Evidence, case: Case) -> Case:
    """The case, with hardly any weight if the log went on after its lines."""
    return case._replace(weight=STALE) if seen.left_behind(case.hits) else case


def _crash(seen: Evidence, found: Dict[str, Case]) -> None:
    """Adds the case of an exception that no pattern knows."""
    case = crashed(seen, found) if RANK_CRASHED_FIRST.id not in found else None
    if case is not None and not seen.worked_on(case.hits):
        found[case.symptom] = _aged(seen, case)


def _claim(seen: Evidence, found: Dict[str, Case]) -> None:
    """Gives a crash that no pattern knows to the cause that its code or its subject belongs to. It stays a crash where
    the claim would say too much: after a step, a cause that a second try cannot remove was not there from the start."""
    crash = found.get(RANK_CRASHED_FIRST.id)
    if crash is None or crash.weight <= STALE or not crash.hits:
        return
    first = crash.hits[0]
    every = [r for _, r in seen.raised()] + quoted(seen) + cut_off(seen)
    raised = next((r for r in every if r.order == first.order and r.line is first.line), None)
    if raised is None:
        _claim_check(found, crash)
        return
    if taken(raised, found):
        return
    for symptom in owners(seen, raised, RANK_CRASHED_FIRST.id):
        if symptom in found and found[symptom].weight > crash.weight:
            return
        if first.steps and cause(symptom).restart == NEVER_AGAIN:
            continue
        hits = tuple(hit._replace(symptom=symptom) for hit in crash.hits)
        found[symptom] = crash._replace(
            symptom=symptom, hits=hits, weight=crash.weight + 1, confidence="likely"
        )
        del found[RANK_CRASHED_FIRST.id]
        return


def _claim_check(found: Dict[str, Case], crash: Case) -> None:
    """Gives a failed check of a library in C++ to the cause that its special subject belongs to."""
    if crash.weight != BARE:
        return
    told = complainants(complaints(), crash.hits[0].line.text)
    symptom = next((name for general, _, name in told if not general), crash.symptom)
    if symptom not in found:
        hits = tuple(hit._replace(symptom=symptom) for hit in crash.hits)
        found[symptom] = crash._replace(symptom=symptom, hits=hits, weight=BARE + 1, confidence="likely")
        del found[RANK_CRASHED_FIRST.id]


def _hear(seen: Evidence, found: Dict[str, Case]) -> None:
    """Gives the last complaints of a log that nothing else explains to the cause that their subject belongs to."""
    heaviest = max((case.weight for case in found.values()), default=0)
    if seen.ended_well or heaviest > HEARD:
        return
    heard = near_the_end((*seen.ranks.values(), *seen.streams.values()), seen.count)
    heard = [one for one in heard if not is_source(one.line.text)]
    every = [r for _, r in seen.raised()] + quoted(seen)
    heard += [Heard(SAID, 0, r.line, r.order, r.steps) for r in every if r.communication]
    hits = {h.order: Hit("", HEARD, h.line, h.order, seen.now(h.line), h.steps) for h in heard}
    heard = [h for h in heard if not _is_past(seen, hits[h.order])]
    known = first_known(complaints(), heard)
    if known is None or (known[0] and heaviest > HINTED):
        return
    general, symptom, told = known
    symptom = reworded(symptom, told.line.text, RANK_CRASHED_FIRST.id)
    if symptom == UNPROVEN:
        return
    weight = HINTED if general else HEARD
    hit = hits[told.order]._replace(symptom=symptom, weight=weight, warned=warns(told.line.text))
    if seen.only_warned((hit,)):
        return
    found[symptom] = _aged(seen, Case(symptom, weight, (hit,), "likely"))


def _is_past(seen: Evidence, hit: Hit) -> bool:
    """Whether a complaint ended nothing: the training goes on after it, or a server was told to end."""
    return bool(seen.later_steps(hit)) or seen.at_shutdown(hit) or seen.is_past(hit)


def _weights(found: Dict[str, Case]) -> Set[int]:
    return {case.weight for case in found.values()}


def _moment(seen: Evidence, hits: Sequence[Hit]) -> Tuple[float, int]:
    """When it was first seen."""
    return min(map(seen.when, hits), default=(NO_TIME, 0))


def _diagnosis(seen: Evidence, case: Case, rivals: bool) -> Diagnosis:
    where, everywhere = where_of(seen, case)
    case, where = compared(seen, case, where)
    speakers = set() if case.only_suffered else set(hit_ranks(seen, case))
    culprits = {where.rank} if where.rank is not None else speakers
    why = [section(case.symptom, "Why it matters"), case.why]
    if everywhere:
        why.append(f"{everywhere} of {len(seen.world)} ranks say it: the configuration, not one rank.")
    confidence = "likely" if rivals and case.confidence == "certain" else case.confidence
    gpu = next(
        (h.group("gpu") for h in case.hits if h.group("gpu") and seen.rank_of(h.line) == where.rank), None
    )
    return Diagnosis(
        cause=case.symptom,
        confidence=confidence,
        where=where if gpu is None or where.rank is None else replace(where, gpu=int(gpu)),
        evidence=_evidence(seen, case),
        collateral=_collateral(seen, case, culprits, where),
        why=" ".join(part for part in why if part),
        fix=section(case.symptom, "What to do"),
    )


def _evidence(seen: Evidence, case: Case) -> Tuple[str, ...]:
    """The first hits, one per rank before a second one of any rank, then the notes; safe to print."""
    chosen: List[Hit] = []
    places: Set[Tuple[Optional[int], Optional[str]]] = set()
    for hit in case.hits:
        place = (seen.rank_of(hit.line), hit.line.node)
        if place not in places:
            places.add(place)
            chosen.append(hit)
    chosen += [h for h in case.hits if h not in chosen]
    lines = [_labelled(seen, h.line, h.start) for h in chosen[: EVIDENCE_LINES - min(len(case.notes), 4)]]
    return tuple(dict.fromkeys([*lines, *(clean(n) for n in case.notes[:4])]))


BEFORE = 120
"""Characters of a line that are shown before the matched text."""


def _labelled(seen: Evidence, line: Line, start: int = 0) -> str:
    """A line as evidence; of a long line the part around the matched text."""
    rank, node = seen.rank_of(line), seen.node_of(line)
    label = " ".join(part for part in (node or "", f"rank {rank}" if rank is not None else "") if part)
    text = without_secrets(line.text)  # before it is cut: a part of a secret cannot be recognized
    if start > 2 * BEFORE:
        start = max(0, text.find(line.text[start : start + BEFORE]))
        text = "… " + text[start - BEFORE :].lstrip()
    return clean(f"{label}: {text}" if label else text)


def _collateral(
    seen: Evidence, case: Case, culprits: "Set[Optional[int]] | Set[int]", where: Where
) -> Tuple[Where, ...]:
    """Ranks that only lost a peer or were ordered to stop."""
    if cause(case.symptom).healthy:
        return ()
    if case.collateral is not None:
        ranks = set(case.collateral)
    else:
        crashed = {rank for rank, r in seen.raised() if not r.communication}
        told = {e.rank for e in seen.exits if e.rank is not None and (e.code == -15 or e.rank not in crashed)}
        named = where.rank is not None or where.node is not None
        ranks = {r for r in seen.blamers() | (told if named else set()) if r is not None}
    if case.rank is not None:
        ranks |= set(hit_ranks(seen, case))
    if where.rank is None and where.node is None and case.weight > ECHO:
        ranks -= set(hit_ranks(seen, case))
    nodes = {rank: state.node for rank, state in seen.ranks.items()}
    return tuple(Where(node=nodes.get(r), rank=r) for r in sorted(ranks - set(culprits))[:4096])


def _left_behind(seen: Evidence, case: Case) -> Diagnosis:
    """The answer if the log went on after all lines that name a cause."""
    told = _evidence(seen, case._replace(notes=()))
    if not told:
        return _unproven(seen)
    said = f"By itself this line would mean: {title(case.symptom)} ({case.symptom})."
    why = f"{said} But the log goes on after it, and nothing at its end names a cause."
    return replace(_unproven(seen), evidence=told, where=where_of(seen, case)[0], why=why)


def _unproven(seen: Evidence) -> Diagnosis:
    bad = [e for e in seen.exits if e.code != 0]
    return Diagnosis(
        cause=UNPROVEN,
        confidence=UNPROVEN,
        where=where_ended(seen),
        evidence=tuple(_labelled(seen, e.line) for e in bad[:EVIDENCE_LINES]),
        why="This is a document or a program, not a log."
        if seen.is_document
        else "No line names a cause."
        if seen.count
        else "There is no line to read.",
        fix="Give the whole output, with stderr, and the logs of all ranks and nodes of the job. If it was killed, the "
        "scheduler's log or the kernel's (dmesg -T) says so.",
    )
