"""Findings folded: the same statement about many nodes is one statement, the worst stands first. Pure.

Findings are their JSON form here, since they come from a journal: any field may be missing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Iterable, List, Mapping, Tuple

from allranks.faces.report_text import fold, one_line, spans, whole
from allranks.words import BLOCK, NOTE, OK, UNKNOWN, VERDICTS, WARN

CALLED = {BLOCK: "blocks", UNKNOWN: "unknown", WARN: "warning", NOTE: "note", OK: "fine"}
MANY = {BLOCK: "block", WARN: "warnings", NOTE: "notes"}

Wheres = List[Mapping[str, Any]]


@dataclass
class Folded:
    """One statement and every place it was made about."""

    finding: Mapping[str, Any]
    wheres: Wheres

    @property
    def verdict(self) -> str:
        return verdict(self.finding)

    def place(self) -> str:
        """Where, without a rank that the statement itself names."""
        return place(unsaid(self.wheres, self.text("saw")))

    def text(self, name: str) -> str:
        return str(self.finding.get(name) or "")


def verdict(finding: Mapping[str, Any]) -> str:
    """The finding's verdict; what is none of ours is read as `unknown`, never as fine."""
    found = finding.get("verdict")
    return found if found in VERDICTS else UNKNOWN


def folded(findings: Iterable[Mapping[str, Any]]) -> List[Folded]:
    """Worst first; within a verdict in the order they came."""
    groups: Dict[Tuple[str, ...], Folded] = {}
    for finding in findings:
        where = finding.get("where")
        where = where if isinstance(where, Mapping) else {}
        parts = (verdict(finding), *(finding.get(k) for k in ("id", "saw", "why", "fix")))
        key = tuple(str(part) for part in (*parts, where.get("file"), where.get("line")))
        groups.setdefault(key, Folded(finding, [])).wheres.append(where)
    return sorted(groups.values(), key=lambda group: -VERDICTS.index(group.verdict))


def unsaid(wheres: Wheres, said: str) -> Wheres:
    """The places without what the text says already: `node-1  rank 1 was killed`, not `node-1 rank 1  rank 1 …`."""
    return [{**w, "rank": None} if f"rank {w.get('rank')} " in said else w for w in wheres]


def place(wheres: Wheres) -> str:
    """`run.yaml:25`, `node-[0-2]`, `node-1 rank 8-15`: the places of one statement."""
    parts = []
    for where in wheres[:1]:
        if where.get("file"):
            line = where.get("line")
            parts.append(one_line(f"{where['file']}:{line}" if line else where["file"], 300))
    names = [str(w["node"]) for w in wheres if w.get("node") is not None]
    if names:
        parts.append(one_line(fold(names), 600))
    for name in ("rank", "gpu"):
        numbers = [n for n in (whole(w.get(name)) for w in wheres) if n is not None]
        if numbers:
            parts.append(f"{name if len(set(numbers)) == 1 else name + 's'} {spans(numbers)}")
    return " ".join(parts)


def count_text(groups: Iterable[Folded]) -> str:
    """`1 blocks, 2 warnings, 14 fine`."""
    amounts = counted(groups).items()
    return ", ".join(
        f"{n:,} {CALLED[name] if n == 1 else MANY.get(name, CALLED[name])}" for name, n in amounts
    )


def counted(groups: Iterable[Folded]) -> Dict[str, int]:
    """How many statements of each verdict, worst first; a folded one counts once for each place."""
    amounts = {name: 0 for name in reversed(VERDICTS)}
    for group in groups:
        amounts[group.verdict] += len(group.wheres)
    return {name: amount for name, amount in amounts.items() if amount}
