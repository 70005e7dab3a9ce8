"""What was right of all that was said of a fault: of its place alone, and with a statement that fits it."""

from __future__ import annotations

from typing import Any

from benchmarks._fault_results import Outcome
from benchmarks._faults import FAULTS


def judge(outcome: Outcome, events: list[dict[str, Any]], began: float) -> bool:
    """All of what was said so far, judged anew: the diagnosis counts where there is one, else any alarm. True where
    nothing was said at all."""
    fault, quiet = FAULTS[outcome.fault], True
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
        quiet, place, told = False, at_place(outcome, data.get("where") or {}), told_by(data)
        outcome.statements.append(f"{after} {told}")
        if place and outcome.named is None:
            outcome.named = after
            outcome.noticed = after if outcome.noticed is None else outcome.noticed
        if outcome.named is None and is_elsewhere(outcome, data.get("where") or {}):
            outcome.elsewhere.append(f"{after} {told}")
        if decided and not final:
            continue
        outcome.said = told if final or place or not outcome.right_place else outcome.said
        right = place and any(one.fits(data) for one in fault.right)
        outcome.right_place = place if final else outcome.right_place or place
        outcome.right_cause = right if final else outcome.right_cause or right
        decided = decided or final
    return quiet


def is_death(event: dict[str, Any]) -> bool:
    """Whether the journal says by itself that something has ended; a peer's complaint is none of it."""
    if event["kind"] == "exception":
        return not event["data"].get("communication")
    return event["kind"] in ("rank-gone", "lost", "torchrun-ended", "lease-lost")


def at_place(outcome: Outcome, where: dict[str, Any], needs_rank: bool = True) -> bool:
    """Whether a finding's place, or an event's, is the one that the fault came to."""
    if where.get("node") != f"node{outcome.node}":
        return False
    number = where.get("rank")
    if not FAULTS[outcome.fault].rank or (number is None and not needs_rank):
        return True
    return number == outcome.rank


def is_elsewhere(outcome: Outcome, where: dict[str, Any]) -> bool:
    """Whether a statement is about another node, or another rank: one without a place blames nobody."""
    node, number = where.get("node"), where.get("rank")
    if node is not None and node != f"node{outcome.node}":
        return True
    return FAULTS[outcome.fault].rank and number is not None and number != outcome.rank


def told_by(data: dict[str, Any]) -> str:
    where = data.get("where") or {}
    number = where.get("rank")
    parts = [
        data.get("id") or data.get("cause"),
        where.get("node"),
        "" if number is None else f"rank {number}",
    ]
    return " ".join(str(part) for part in parts if part)
