"""Finds the rank or node that the ranks of a job wait for, if allranks did not start the job.

It judges as at a stall (`rank_comparison`), with two differences. First, the job's pace is unknown: a job whose ranks
all move is not judged, and a job that may only be slow gets no certain diagnosis. Second, some ranks may be on
machines that were not looked at.
"""

from __future__ import annotations

from collections import Counter
from types import MappingProxyType
from typing import Dict, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

from allranks.core import Diagnosis, Where
from allranks.core.causes import UNPROVEN
from allranks.core.node_events import ProcessSeen
from allranks.core.rank_events import Stack
from allranks.core.stack_places import doing, place_of, waits
from allranks.core.text import plural
from allranks.diagnose.catalogue import cause
from allranks.diagnose.symptoms.benign_noise import CAUSE as BENIGN_NOISE
from allranks.diagnose.symptoms.collective_timeout_straggler import CAUSE as COLLECTIVE_TIMEOUT_STRAGGLER
from allranks.diagnose.symptoms.node_failure import CAUSE as NODE_FAILURE
from allranks.diagnose.symptoms.peer_node_network_broken import CAUSE as PEER_NODE_NETWORK_BROKEN
from allranks.diagnose.symptoms.rank_exited_early import CAUSE as RANK_EXITED_EARLY
from allranks.monitor import flight_dumps, sockets
from allranks.monitor.detectors.rank_silent import CAUSE as RANK_SILENT
from allranks.monitor.job_case import (
    WORKS,
    Case,
    Heard,
    beside,
    broken_lines,
    diagnosis,
    kernel_place,
    notes,
    of_odd,
    straggler_fix,
    unproven,
)
from allranks.monitor.job_look import (
    Job,
    NodeLook,
    between_ranks,
    children_of,
    data_addresses,
    moved,
    silence,
)
from allranks.monitor.rank_comparison import FREEZER, STOPPED, odd_one
from allranks.monitor.run_state import RunState
from allranks.monitor.suspect import named, whole_node


class Verdict(NamedTuple):
    """`advances`: every rank moved. `notes` are further remarks, such as nodes that did not answer. `asks`:
    addresses, by node, that all nodes should try, because nothing else shows which end of a link is broken; `judge`
    takes the results."""

    diagnosis: Diagnosis
    advances: bool
    moved: Dict[int, Optional[bool]]
    silence: Optional[float]
    notes: Tuple[str, ...]
    asks: Mapping[str, str] = MappingProxyType({})


def judge(job: Job, looks: Sequence[NodeLook], heard: Optional[Heard] = None) -> Verdict:
    rows = between_ranks(job)
    went = {n: moved(one, rows[n]) for n, one in job.ranks.items()}
    quiet = [age for age in (silence(rows[n]) for n in job.ranks) if age is not None]
    seconds = max((one.seconds for one in job.ranks.values()), default=0.0)
    case = Case(job, looks, _state(job, looks), went, min(quiet, default=None), seconds, heard)
    rules = (_stopped, _advances, _gone, _by_dumps, _odd, _several, _link, _by_kernel, _nowhere, _alike)
    rule, found = next((rule, found) for rule in rules if (found := rule(case)) is not None)
    asks = data_addresses(job) if rule is _link and heard is None else {}
    return Verdict(found, cause(found.cause).healthy, went, case.silence, tuple(notes(case)), asks)


def _state(job: Job, looks: Sequence[NodeLook]) -> RunState:
    """The looks, in the form of a run's answers at a stall."""
    run = RunState({"world_size": job.world_size})
    for number, one in sorted(job.ranks.items()):
        rank = run.rank(number)
        rank.node = one.node
        rank.uuid = "gpu" if one.gpu else None
        run.stacks[number] = Stack(frames=one.frames or None, by=one.by, why="" if one.frames else one.why)
        frozen = one.group.get("frozen") is True
        run.looks[number] = ProcessSeen(
            pid=one.pid,
            state=one.state,
            wchan="do_freezer_trap" if frozen and not FREEZER.search(one.wchan or "") else one.wchan,
            children=children_of(one),
            sockets=one.sockets,
        )
    run.answers = 1
    for look in looks:
        node = run.node(look.name)
        node.kernel, node.kernel_unread = list(look.kernel), look.kernel_why
    return run


# ---- the rules; the most reliable one comes first ----


def _stopped(case: Case) -> Optional[Diagnosis]:
    """A stopped process is the reason, whatever the others do."""
    if not any(one.state in STOPPED or one.group.get("frozen") is True for one in case.job.ranks.values()):
        return None
    odd = odd_one(case.run)
    return of_odd(case, odd) if odd is not None and odd.cause == RANK_SILENT.id and odd.proven else None


def _advances(case: Case) -> Optional[Diagnosis]:
    known = [value for value in case.moved.values() if value is not None]
    if not known or not all(known) or 2 * len(known) < len(case.moved):
        return None
    stuck = [n for n, value in case.moved.items() if value is None]
    said = f"all {plural(len(known), 'rank')} that could be read moved within {case.seconds:.1f} s"
    return Diagnosis(
        cause=BENIGN_NOISE.id,
        confidence="likely" if stuck or case.job.missing else "certain",
        evidence=(said,),
        why="the job advances: nobody waits for one rank.",
    )


def _gone(case: Case) -> Optional[Diagnosis]:
    """The diagnosis if ranks have ended on a machine that was looked at, or if a machine does not answer."""
    missing, job = case.job.missing, case.job
    here = _missing_beside(job)
    if here:
        number, node = here[0]
        some = f"{named([n for n, _ in here])} of {job.world_size}: no such process on {node}"
        beside = [n for n, one in job.ranks.items() if one.node == node]
        lines = (some, f"{named(beside)} of the same launch {'is' if len(beside) == 1 else 'are'} there")
        sure = all(value is not True for value in case.moved.values())
        return diagnosis(
            case,
            RANK_EXITED_EARLY.id,
            "certain" if sure else "likely",
            Where(node=node, rank=number),
            lines,
            "it has ended, and the others wait for it.",
            f"read what rank {number} printed last on {node}; start the job again.",
        )
    if not missing:
        return None
    silent = [look for look in case.looks if look.unreachable]
    bare = [
        look
        for look in case.looks
        if not look.error and not any(one in job.ranks.values() for one in look.ranks)
    ]
    suspects = silent or bare
    if not suspects or len(suspects) > _nodes_missing(job):
        return None
    return _missing_node(case, suspects, bool(silent))


def _missing_node(case: Case, suspects: Sequence[NodeLook], unreachable: bool) -> Optional[Diagnosis]:
    missing, first = case.job.missing, suspects[0]
    who = ", ".join(look.name for look in suspects)
    rank = missing[0] if len(suspects) == 1 else None
    if len(suspects) > 1 or len(suspects) != _nodes_missing(case.job):
        confidence = UNPROVEN
    else:
        confidence = "likely"
    lines = [f"{named(missing)} of {case.job.world_size}: on none of the machines that answer"]
    if unreachable:
        lines.append(f"{who} does not answer: {first.error}")
        lines += broken_lines(case)
        name, why = NODE_FAILURE.id, "the others wait for the ranks of a machine that does not answer."
        fix = f"look at {who}: power, network, kernel log; or look from where it can be reached."
    else:
        lines.append(f"{who} answers, and no rank of this job runs there")
        name, why = (
            RANK_EXITED_EARLY.id,
            "its ranks have ended, or were never started, and the others wait for them.",
        )
        fix = f"read what the job printed last on {who}; start the job again."
    where = Where(node=first.name if len(suspects) == 1 else None, rank=rank)
    return diagnosis(case, name if confidence != UNPROVEN else UNPROVEN, confidence, where, lines, why, fix)


def _missing_beside(job: Job) -> List[Tuple[int, str]]:
    """(rank, node) of missing ranks whose neighbours are on a known node: torchrun numbers a node's ranks in a row."""
    found: Dict[int, str] = {}
    launches: Dict[Tuple[str, int], int] = {}
    for number, one in job.ranks.items():
        if one.local_rank is None or one.local_rank > number:
            continue
        said = one.env.get("LOCAL_WORLD_SIZE", "")
        many = max(int(said) if said.isdigit() else 0, one.local_rank + 1)
        launch = (one.node, number - one.local_rank)
        launches[launch] = max(many, launches.get(launch, 0))
    for (node, first), many in launches.items():
        found.update({n: node for n in range(first, min(first + many, job.world_size)) if n not in job.ranks})
    found.update({n: one.node for n, one in job.ranks.items() if one.gone})
    return sorted(found.items())


def _nodes_missing(job: Job) -> int:
    """How many machines of the job were not seen. If no variable says it, an estimate from the missing ranks."""
    groups: Set[str] = {one.env["GROUP_RANK"] for one in job.ranks.values() if "GROUP_RANK" in one.env}
    size = next(
        (one.env["GROUP_WORLD_SIZE"] for one in job.ranks.values() if "GROUP_WORLD_SIZE" in one.env), ""
    )
    if groups and size.isdigit():
        return max(0, int(size) - len(groups))
    seen = {one.node for one in job.ranks.values()}
    most = max((sum(one.node == node for one in job.ranks.values()) for node in seen), default=1)
    return -(-len(job.missing) // most)


def _by_dumps(case: Case) -> Optional[Diagnosis]:
    """The diagnosis of the flight recorders, if the ranks have written their dumps."""
    dumps = [one.dump for one in case.job.ranks.values() if one.dump is not None]
    if len(dumps) < 2:
        return None
    found = flight_dumps.judge(dumps)
    one = case.job.ranks.get(found.where.rank) if found.where.rank is not None else None
    if found.cause == UNPROVEN or one is None:
        return None
    return diagnosis(
        case,
        found.cause,
        found.confidence,
        Where(node=one.node, rank=one.rank, file=found.where.file, line=found.where.line),
        found.evidence,
        found.why,
        found.fix,
    )


def _odd(case: Case) -> Optional[Diagnosis]:
    if case.job.missing and not _all_looked_at(case):
        return None  # the rank that they wait for may be on another machine
    odd = odd_one(case.run)
    if odd is None or (waits(case.job.ranks[odd.rank].frames) and sockets.apart(case.run) is not None):
        return None  # they wait on both sides of a broken link
    return of_odd(case, odd)


def _all_looked_at(case: Case) -> bool:
    """Whether exactly one rank that was seen is outside of every collective: the others wait for it in any case."""
    outside = [n for n, one in case.job.ranks.items() if one.frames and not waits(one.frames)]
    return len(outside) == 1


def _several(case: Case) -> Optional[Diagnosis]:
    """The diagnosis if several ranks on different nodes are elsewhere, and all others wait."""
    ranks = case.job.ranks
    outside = sorted(n for n, one in ranks.items() if one.frames and not waits(one.frames))
    waiting = [n for n, one in ranks.items() if one.frames and waits(one.frames)]
    if not outside or len(outside) < 2 or len(outside) > len(waiting):
        return None
    lines = [f"rank {n} on {ranks[n].node}: {doing(ranks[n].frames)}" for n in outside[:6]]
    first = ranks[outside[0]]
    place = place_of(first.frames)
    return diagnosis(
        case,
        COLLECTIVE_TIMEOUT_STRAGGLER.id,
        "likely",
        Where(
            node=first.node,
            rank=first.rank,
            file=place.file if place else None,
            line=place.line if place else None,
        ),
        [*lines, f"{plural(len(waiting), 'other rank')} wait in a collective"],
        f"{named(outside)} are outside of the collective in which the others wait.",
        straggler_fix(first),
    )


def _link(case: Case) -> Optional[Diagnosis]:
    """The diagnosis if two nodes do not reach each other. The other nodes try both, which may show the broken end."""
    pair = sockets.apart(case.run)
    if pair is None:
        return None
    first, second, one = pair
    guilty, lines = _broken_end(case, first, second)
    name = PEER_NODE_NETWORK_BROKEN.id
    if guilty is None:
        return diagnosis(
            case,
            name,
            "likely",
            Where(node=first),
            (one.text, f"the connection between {first} and {second}", *lines),
            f"TCP between {first} and {second} is not answered; nothing here says which end is to blame.",
            f"ping {second} from {first} and back; look at both links and their switch ports.",
        )
    ranks = [n for n, seen in case.job.ranks.items() if seen.node == guilty]
    where = Where(node=guilty, rank=ranks[0] if len(ranks) == 1 else None)
    fix = cause(name).fix_of_rank.format(node=guilty, rank=ranks[0], pid="")
    why = f"the connection between {first} and {second} is not answered, and others do not reach {guilty} either."
    return diagnosis(case, name, "likely", where, (one.text, *lines), why, fix)


def _broken_end(case: Case, *pair: str) -> Tuple[Optional[str], List[str]]:
    """The node of the pair that the others do not reach, while they reach the other one."""
    addresses, heard = data_addresses(case.job), case.heard or {}
    others = [name for name in heard if name not in pair]
    reached: Dict[str, Set[str]] = {name: set() for name in pair}
    for name in pair:
        for other in others:
            there = heard[other].get(addresses.get(name, "")) is True
            back = heard.get(name, {}).get(addresses.get(other, "")) is True
            if there or back:
                reached[name].add(other)
    lines = [
        f"{name} and {', '.join(sorted(reached[name]))} reach each other"
        if reached[name]
        else f"{name} and {', '.join(others)} do not reach each other"
        for name in pair
        if others
    ]
    cut = [name for name in pair if not reached[name]]
    return (cut[0] if len(cut) == 1 and others else None), lines


def _by_kernel(case: Case) -> Optional[Diagnosis]:
    """The diagnosis without stacks: one rank, or the ranks of one node, wait in the kernel for something else than
    all others."""
    ranks = case.job.ranks
    if case.job.missing or len(case.run.stacks) < 3 or sum(bool(one.frames) for one in ranks.values()) > 1:
        return None
    places = {n: kernel_place(one) for n, one in ranks.items()}
    counted = Counter(places.values()).most_common()
    if len(counted) != 2 or None in places.values() or counted[0][1] <= counted[1][1]:
        return None
    common, other = counted[0][0], counted[1][0]
    odd = sorted(n for n, place in places.items() if place == other)
    if common == WORKS or (len(odd) > 1 and whole_node(odd, case.run.ranks) is None):
        return None
    first = ranks[odd[0]]
    lines = [
        f"{named(those)}: {place}" for place, those in ((other, odd), (common, sorted(set(ranks) - set(odd))))
    ]
    return diagnosis(
        case,
        COLLECTIVE_TIMEOUT_STRAGGLER.id,
        "likely",
        Where(node=first.node, rank=first.rank if len(odd) == 1 else None),
        [*lines, *beside(first)],
        f"{named(odd)}: {other}; the others: {common}. No stack could be read: {first.why or 'nobody read it'}.",
        straggler_fix(first),
    )


def _nowhere(case: Case) -> Optional[Diagnosis]:
    missing = case.job.missing
    if not missing:
        return None
    told = f"{named(missing)} of {case.job.world_size}: on none of the machines that were looked at"
    return unproven(case, f"{told}: give all nodes of the job.")


def _alike(case: Case) -> Diagnosis:
    return unproven(case, "no rank differs from the others in what can be seen from outside.")
