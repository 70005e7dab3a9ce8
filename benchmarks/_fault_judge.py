"""What was right of all that was said of a fault: of its place alone, and with a statement that fits it."""

from __future__ import annotations

from typing import Any

from benchmarks._fault import Fault
from benchmarks._fault_results import Outcome
from benchmarks._faults import FAULTS


def faults_of(outcome: Outcome) -> list[Fault]:
    return [FAULTS[name] for name in (outcome.fault, outcome.second) if name]


def judge(outcome: Outcome, events: list[dict[str, Any]], began: float) -> bool:
    """All of what was said so far, judged anew: the diagnosis counts where there is one, else any alarm. Of two faults
    at once either is right, with its own place. True where nothing was said at all; what says that a fault which must
    not disturb was seen, rightly, is nothing."""
    faults, quiet = faults_of(outcome), True
    everywhere = all(fault.everywhere for fault in faults)  # any place fits, so only the right words name it
    outcome.noticed = outcome.named = None
    outcome.said, outcome.statements, outcome.elsewhere = "", [], []
    outcome.right_place = outcome.right_cause = decided = False
    for event in events:
        data, after = event["data"], round(event["at"] - began, 1)
        first_word = event["kind"] == "diagnosis" and bool(data.get("provisional"))
        final = event["kind"] == "diagnosis" and not first_word
        alarm = first_word or (event["kind"] == "finding" and data.get("verdict") in ("warn", "block"))
        if not alarm and not final:
            if is_death(event):
                quiet = False
                if outcome.noticed is None and at_place(outcome, event, needs_rank=False):
                    outcome.noticed = after
            continue
        place, told = at_place(outcome, data.get("where") or {}), told_by(data)
        right = is_right(outcome, data)
        expected = all(fault.goes_on for fault in faults) and right
        quiet = quiet and expected
        outcome.statements.append(f"{after} {told}")
        if place and outcome.noticed is None:
            outcome.noticed = after
        if outcome.named is None and (right if everywhere else place):
            outcome.named = after
        if outcome.named is None and is_elsewhere(outcome, data.get("where") or {}):
            outcome.elsewhere.append(f"{after} {told}")
        if decided and not final:
            continue
        outcome.said = told if final or place or not outcome.right_place else outcome.said
        outcome.right_place = place if final else outcome.right_place or place
        outcome.right_cause = right if final else outcome.right_cause or right
        decided = decided or final
    return quiet


def is_death(event: dict[str, Any]) -> bool:
    """Whether the journal says by itself that something has ended; a peer's complaint is none of it."""
    if event["kind"] == "exception":
        return not event["data"].get("communication")
    return event["kind"] in ("rank-gone", "lost", "torchrun-ended", "lease-lost")


def planted(outcome: Outcome) -> list[tuple[Fault, tuple[int, ...], int]]:
    """(the fault, its nodes, its rank)."""
    places = [(outcome.node, outcome.rank), (outcome.second_node, outcome.second_rank)]
    found = zip(faults_of(outcome), places, strict=False)
    return [(fault, (node, *fault.also), rank) for fault, (node, rank) in found]


def is_right(outcome: Outcome, data: dict[str, Any]) -> bool:
    where = data.get("where") or {}
    return any(_at(one, where) and any(r.fits(data) for r in one[0].right) for one in planted(outcome))


def at_place(outcome: Outcome, where: dict[str, Any], needs_rank: bool = True) -> bool:
    """Whether a finding's place, or an event's, is one that a fault came to."""
    return any(_at(one, where, needs_rank) for one in planted(outcome))


def _at(one: tuple[Fault, tuple[int, ...], int], where: dict[str, Any], needs_rank: bool = True) -> bool:
    fault, nodes, rank = one
    if fault.everywhere:
        return True
    if where.get("node") not in [f"node{number}" for number in nodes]:
        return False
    number = where.get("rank")
    return not fault.rank or (number is None and not needs_rank) or number == rank


def is_elsewhere(outcome: Outcome, where: dict[str, Any]) -> bool:
    """Whether a statement is about another node, or another rank: one without a place blames nobody."""
    if where.get("node") is None and where.get("rank") is None:
        return False
    return not at_place(outcome, where, needs_rank=False)


def told_by(data: dict[str, Any]) -> str:
    where = data.get("where") or {}
    number = where.get("rank")
    parts = [
        data.get("id") or data.get("cause"),
        where.get("node"),
        "" if number is None else f"rank {number}",
    ]
    return " ".join(str(part) for part in parts if part)
