"""The facts about a job that allranks did not start, and the texts of its diagnosis."""

from __future__ import annotations

import re
from typing import Dict, List, Mapping, NamedTuple, Optional, Sequence

from allranks.core import Diagnosis, Where
from allranks.core.causes import UNPROVEN
from allranks.core.stack_places import doing
from allranks.diagnose.catalogue import cause, section
from allranks.diagnose.lines import clean
from allranks.diagnose.symptoms.collective_timeout_straggler import CAUSE as COLLECTIVE_TIMEOUT_STRAGGLER
from allranks.monitor import kernel_log, sockets
from allranks.monitor.job_look import Job, NodeLook, SeenRank
from allranks.monitor.run_state import RunState
from allranks.monitor.suspect import Odd, named

SHORT_SECONDS = 5.0
"""Ranks that exchanged bytes more recently than this may still run: a step may take as long."""

LINES = 12
PIPE = "TORCH_NCCL_DEBUG_INFO_PIPE_FILE"
WORKS = "its main thread computes"
PLACES = (
    (re.compile(r"nanosleep"), "its main thread sleeps for a time"),
    (re.compile(r"futex"), "its main thread waits for another thread"),
    (re.compile(r"poll|select"), "its main thread waits for a file or a connection"),
    (re.compile(r"pipe"), "its main thread waits for a pipe"),
    (re.compile(r"do_wait|wait4|waitid"), "its main thread waits for a child"),
)
"""The kernel's functions in which a process waits, and their meaning."""


Heard = Mapping[str, Mapping[str, bool]]
"""By node: whether each address answered when that node tried it."""


class Case(NamedTuple):
    """`run` holds the looks in the form of a run's answers at a stall. `moved`: whether each rank moved between the
    looks. `silence`: how many seconds ago ranks last exchanged bytes."""

    job: Job
    looks: Sequence[NodeLook]
    run: RunState
    moved: Dict[int, Optional[bool]]
    silence: Optional[float]
    seconds: float
    heard: Optional[Heard] = None


def of_odd(case: Case, odd: Odd) -> Diagnosis:
    one = case.job.ranks[odd.rank]
    about = cause(odd.cause)
    straggler = odd.cause == COLLECTIVE_TIMEOUT_STRAGGLER.id
    template = about.fix_of_rank or section(odd.cause, "What to do")
    fix = straggler_fix(one) if straggler else template.format(node=one.node, rank=odd.rank, pid=one.pid)
    works = one.busy or case.moved.get(odd.rank) is True
    recent = case.silence is not None and case.silence < SHORT_SECONDS
    confidence = "certain" if odd.proven else "likely"
    why = f"{'node ' + odd.node if odd.node else f'rank {odd.rank}'}: {odd.reason}."
    if straggler and works:
        confidence = "likely"
        why += " It is at work, so it may only be slow: look again with a longer --seconds."
        if recent:
            return unproven(case, f"{why} Bytes went between ranks {case.silence:.1f} s ago.", odd.evidence)
    alone = sum(r.node == odd.node for r in case.job.ranks.values()) == 1
    where = Where(
        node=one.node,
        rank=odd.rank if odd.node is None or alone else None,
        file=odd.frame.file if odd.frame else None,
        line=odd.frame.line if odd.frame else None,
    )
    return diagnosis(case, odd.cause, confidence, where, [*odd.evidence, *beside(one)], why, fix)


def straggler_fix(one: SeenRank) -> str:
    return (
        f"look at that line on {one.node}, process {one.pid}: it computes, reads or waits there. The other "
        f"ranks are well."
    )


def beside(one: SeenRank) -> List[str]:
    """Further facts about the rank: its children's stacks, its output, its control group."""
    lines = []
    for child in one.children:
        steps = [row for row in child.get("stack") or () if isinstance(row, (list, tuple)) and len(row) > 2]
        if steps:
            file, line, function = steps[-1][:3]
            lines.append(f"its child {child.get('pid')} ({child.get('name')}): {file}:{line} in {function}")
    if one.output_age is not None:
        lines.append(f"its output was last written {one.output_age:.0f} s ago")
    if one.group.get("oom_kills"):
        lines.append(
            f"the kernel has killed {one.group['oom_kills']} processes of its control group for memory"
        )
    return lines[:4]


def diagnosis(
    case: Case, name: str, confidence: str, where: Where, lines: Sequence[str], why: str, fix: str
) -> Diagnosis:
    guilty = {
        n
        for n, one in case.job.ranks.items()
        if n == where.rank or (where.rank is None and one.node == where.node)
    }
    others = [one for n, one in sorted(case.job.ranks.items()) if n not in guilty]
    told = [clean(line) for line in lines]
    told += _still(case)
    return Diagnosis(
        cause=name,
        confidence=confidence,
        where=where,
        evidence=tuple(dict.fromkeys(told))[: LINES + 4],
        collateral=tuple(Where(node=one.node, rank=one.rank) for one in others),
        why=why,
        fix=fix,
    )


def _still(case: Case) -> List[str]:
    still = [n for n, value in case.moved.items() if value is False]
    lines = [f"{named(still)}: nothing moved within {case.seconds:.1f} s"] if still else []
    if case.silence is not None and case.silence > case.seconds:
        lines.append(f"no byte went between ranks for {case.silence:.0f} s")
    return lines


def unproven(case: Case, why: str, lines: Sequence[str] = ()) -> Diagnosis:
    seen = [f"{named(ranks)}: {text}" for text, ranks in list(sides(case.job).items())[:8]]
    return Diagnosis(
        cause=UNPROVEN,
        confidence=UNPROVEN,
        evidence=tuple(clean(line) for line in [*(lines or seen), *_still(case)]),
        why=why,
        fix="look again with a longer --seconds; give all nodes of the job.",
    )


def _doing(one: SeenRank) -> str:
    return doing(one.frames) if one.frames else f"no stack ({one.why or 'nobody read it'}), state {one.state}"


def kernel_place(one: SeenRank) -> Optional[str]:
    """The activity of the main thread, as the kernel's wait channel shows it; None if unknown."""
    if one.busy:
        return WORKS
    return next((text for pattern, text in PLACES if pattern.search(one.wchan or "")), None)


def broken_lines(case: Case) -> List[str]:
    return [one.text for n in sorted(case.run.looks) for one in sockets.broken(case.run, n)][:3]


def notes(case: Case) -> List[str]:
    unread = [n for n, one in case.job.ranks.items() if not one.stacks]
    notes = []
    if unread:
        why = case.job.ranks[unread[0]].why or "nobody could read it"
        notes.append(f"no stack of {named(unread)}: {why}")
    missing = case.job.missing
    if missing:
        notes.append(f"{named(missing)} of {case.job.world_size} not seen")
    for look in case.looks:
        if look.error:
            notes.append(f"{look.name}: {look.error}")
        words = kernel_log.words(case.run.nodes[look.name]) if look.name in case.run.nodes else []
        notes += [f"{look.name}: {line}" for line in words[:2] if look.kernel]
        notes += [f"{look.name}: {row['why']}" for row in look.gpus if row.get("why")]
        notes += [
            f"{look.name}: GPU {row.get('index')} counts {row['ecc']} uncorrected errors of its memory"
            for row in look.gpus
            if str(row.get("ecc", "")).strip("0").isdigit()
        ]
    pipe = next((one.env[PIPE] for one in case.job.ranks.values() if PIPE in one.env), None)
    if pipe is not None and not any(one.dump for one in case.job.ranks.values()):
        notes.append(
            f"the ranks offer their recorders' dumps: write a 1 into {pipe}RANK.pipe of each, and look again"
        )
    return [clean(note) for note in notes]


def sides(job: Job) -> "Dict[str, List[int]]":
    """The ranks by their activity: the text, and the ranks that it describes."""
    found: Dict[str, List[int]] = {}
    for number, one in sorted(job.ranks.items()):
        found.setdefault(_doing(one), []).append(number)
    return found
