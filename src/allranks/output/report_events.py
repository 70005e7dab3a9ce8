"""The events of a run other than its steps, as a list and as marks below the phases. Only the standard library."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional

from allranks.core.untrusted import integer, number, text
from allranks.output.report_findings import CALLED, blamed, place, where_of
from allranks.output.report_parts import section
from allranks.output.report_text import compact_seconds, count, escape, one_line, seconds

MOST_OF_A_KIND = 24
SHOWN = 12
"""A longer list is folded."""

MOMENTS = ("restart", "resume", "replaced", "lost", "evidence", "copied", "copy-failed")
"""The keeper reports each of these once, so the same text again is another event. All ranks may report the others, and
several times."""

Said = Optional[str]


class Story:
    """`add` takes every event. The first ones of each kind are kept, the others only counted. The same text of the same
    attempt is one event, except for MOMENTS."""

    def __init__(self) -> None:
        self.attempt = 0
        self.events: List[Dict[str, Any]] = []
        self.amounts: Dict[str, int] = {}
        self.seen: set = set()

    def add(self, at: float, kind: str, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        said = _TOLD[kind](data) if kind in _TOLD else None
        if said is None:
            return
        told_by = {"node": event.get("node"), "rank": event.get("rank"), **_place(data)}
        where = "" if kind == "saved" else place([where_of(told_by)])  # all ranks report one save
        key = (self.attempt, kind, said, where)
        if kind == "restart" and data.get("again") is True:
            self.attempt += 1
        if key in self.seen and kind not in MOMENTS:
            return
        amount = self.amounts[kind] = self.amounts.get(kind, 0) + 1
        if amount <= MOST_OF_A_KIND:
            self.seen.add(key)
            ident = text(data.get("id")) if kind == "finding" else None
            self.events.append(
                {"at": at, "kind": kind, "where": where, "said": one_line(said, 300), "id": ident}
            )

    def told(self) -> Dict[str, Any]:
        left = {kind: n - MOST_OF_A_KIND for kind, n in self.amounts.items() if n > MOST_OF_A_KIND}
        return {"events": sorted(self.events, key=lambda event: event["at"]), "left": left}


def _place(data: Mapping[str, Any]) -> Dict[str, Any]:
    """A finding's own place: the keeper only reported it."""
    where = data.get("where")
    return {name: where.get(name) for name in ("node", "rank")} if isinstance(where, Mapping) else {}


def _finding(data: Mapping[str, Any]) -> Said:
    verdict = data.get("verdict")
    return f"{CALLED[str(verdict)]}: {data.get('saw')}" if verdict in ("warn", "block", "unknown") else None


def _saved(data: Mapping[str, Any]) -> Said:
    step = integer(data.get("step"))
    return "saved" + (f", step {count(step)}" if step is not None else "")


def _gone(data: Mapping[str, Any]) -> Said:
    code = integer(data.get("code"))
    return (
        None
        if code in (None, 0)
        else f"ended by signal {-code}"
        if code < 0
        else f"ended with exit code {code}"
    )


def _restart(data: Mapping[str, Any]) -> Said:
    return ("the run starts again" if data.get("again") is True else "no restart") + _because(data)


def _resume(data: Mapping[str, Any]) -> Said:
    step = integer(data.get("step"))
    return f"goes on from step {count(step)}" if step is not None and data.get("from") else None


def _because(data: Mapping[str, Any]) -> str:
    return f": {data['why']}" if text(data.get("why")) else ""


def _evidence(data: Mapping[str, Any]) -> Said:
    return (
        None
        if data.get("quiet") is True or data.get("stands") is True
        else f"all ranks are asked where they are{_because(data)}"
    )


_TOLD: Dict[str, Any] = {
    "finding": _finding,
    "saved": _saved,
    "rank-gone": _gone,
    "exception": lambda data: f"{data.get('type')}: {data.get('message')}",
    "torchrun": lambda data: f"attempt {data['attempt']}" if integer(data.get("attempt")) else None,
    "restart": _restart,
    "resume": _resume,
    "replaced": lambda data: f"{data.get('by')} takes the place of {data.get('node')}{_because(data)}",
    "lost": lambda data: f"connection lost{_because(data)}",
    "notice": lambda data: f"the machine goes away{_because(data)}",
    "evidence": _evidence,
    "kernel": lambda data: (
        f"kernel: {data['lines'][0]}" if isinstance(data.get("lines"), list) and data["lines"] else None
    ),
    "save-skipped": lambda data: f"a save is left out{_because(data)}",
    "copied": lambda data: f"checkpoint copied to {data.get('target')}",
    "copy-failed": lambda data: f"checkpoint not copied{_because(data)}",
    "stopping": lambda data: None if not text(data.get("why")) else f"stops its ranks{_because(data)}",
}


def events(data: Mapping[str, Any]) -> str:
    """The list, in the order of time."""
    cause = (blamed(data) or {}).get("cause")
    told = [event for event in data["story"]["events"] if event["id"] is None or event["id"] != cause]
    start = number(data.get("started_at"))
    if not told:
        return ""
    rows = [row(event, start) for event in told]
    left = [f"{n:,} more of the kind {kind}" for kind, n in sorted(data["story"]["left"].items())]
    note = f'<p class="note">In the journal: {escape(", ".join(left))}.</p>' if left else ""
    head = "".join(f'<th scope="col">{name}</th>' for name in ("after", "where", "what"))
    table = f'<table class="full left events"><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>'
    if len(rows) > SHOWN:
        table = f"<details><summary>{len(rows):,} events</summary>{table}</details>"
    return section("events", "Events", f'<div class="wrap">{table}</div>{note}')


def row(event: Mapping[str, Any], start: Optional[float]) -> str:
    after = compact_seconds(event["at"] - start) if start is not None else seconds(0.0)
    return f"<tr><td>{after}<td>{escape(event['where'], 200)}<td>{escape(event['said'])}"
