"""Findings and diagnoses: the one form in which allranks says anything.

A finding is made by a pure function from data that a node sent. It is read by a person (terminal,
HTML) and by a program (JSON) in the same form.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import Any, Container, Dict, Iterable, List, Optional, Tuple

OK, NOTE, WARN, BLOCK, UNKNOWN = "ok", "note", "warn", "block", "unknown"
VERDICTS = (OK, NOTE, WARN, UNKNOWN, BLOCK)
"""From best to worst. `unknown` is a verdict, too: if allranks could not look at something, it does not call it
fine."""


@dataclass(frozen=True)
class Where:
    """A place: any part may be None if it does not apply. `rank` is the global rank, `line` counts from 1."""

    node: Optional[str] = None
    rank: Optional[int] = None
    gpu: Optional[int] = None
    file: Optional[str] = None
    line: Optional[int] = None

    def __str__(self) -> str:
        parts = []
        if self.file:
            parts.append(f"{self.file}:{self.line}" if self.line else self.file)
        if self.node:
            parts.append(self.node)
        if self.rank is not None:
            parts.append(f"rank {self.rank}")
        if self.gpu is not None:
            parts.append(f"gpu {self.gpu}")
        return " ".join(parts)


@dataclass(frozen=True)
class Finding:
    """One statement: the observation and its place, the expectation, why it matters, and the fix.

    `id` is the name of the rule that made it (the page of `allranks explain ID`).
    """

    KIND = "finding"

    id: str
    verdict: str
    where: Where = field(default_factory=Where)
    saw: str = ""
    expected: str = ""
    why: str = ""
    fix: str = ""
    evidence: Tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise ValueError(f"verdict {self.verdict!r} is none of {VERDICTS}")

    @property
    def stops_launch(self) -> bool:
        """`unknown` stops a launch as `block` does, unless the user accepts the finding by its id."""
        return self.verdict in (BLOCK, UNKNOWN)

    def as_json(self) -> Dict[str, Any]:
        """The fields, and `blocks`: whether the finding stops a launch."""
        return {**asdict(self), "blocks": self.stops_launch}


@dataclass(frozen=True)
class Diagnosis:
    """Why a run broke. `cause` is an id of the symptoms' catalogue or `unproven`.

    `confidence` is `certain`, `likely` or `unproven`. `collateral` names the ranks that only suffered.
    `first_seen` is seconds since the epoch on the head's clock, or None.
    """

    KIND = "diagnosis"

    cause: str
    confidence: str
    where: Where = field(default_factory=Where)
    first_seen: Optional[float] = None
    evidence: Tuple[str, ...] = ()
    collateral: Tuple[Where, ...] = ()
    why: str = ""
    fix: str = ""
    provisional: bool = False  # known within a second of the trouble; another one without it follows

    def as_json(self) -> Dict[str, Any]:
        data = asdict(self)
        return data if self.provisional else {k: v for k, v in data.items() if k != "provisional"}

    def as_finding(self) -> Finding:
        """The same statement as a finding with the verdict `block`."""
        return Finding(
            id=self.cause,
            verdict=BLOCK,
            where=self.where,
            saw=self.evidence[0] if self.evidence else "no line of any log names a cause",
            why=self.why,
            fix=self.fix,
            evidence=self.evidence,
        )


def where_from_json(data: "Dict[str, Any] | None") -> Where:
    known = {f.name for f in fields(Where)}
    return Where(**{k: v for k, v in (data or {}).items() if k in known})


def finding_from_json(data: Dict[str, Any]) -> Finding:
    """Reads a finding back; keys of a newer version are ignored, not an error."""
    known = {f.name for f in fields(Finding)}
    values = {k: v for k, v in data.items() if k in known}
    values["where"] = where_from_json(data.get("where"))
    values["evidence"] = tuple(data.get("evidence") or ())
    return Finding(**values)


def diagnosis_from_json(data: Dict[str, Any]) -> Diagnosis:
    """Reads a diagnosis back; keys of a newer version are ignored, not an error."""
    known = {f.name for f in fields(Diagnosis)}
    values = {k: v for k, v in data.items() if k in known}
    values["where"] = where_from_json(data.get("where"))
    values["evidence"] = tuple(data.get("evidence") or ())
    values["collateral"] = tuple(map(where_from_json, data.get("collateral") or ()))
    return Diagnosis(**values)


def stopping_launch(findings: Iterable[Finding], accept: Container[str] = ()) -> List[Finding]:
    """The findings that forbid a launch, without those that the user accepts by id."""
    return [f for f in findings if f.stops_launch and f.id not in accept]


def worst(findings: Iterable[Finding]) -> str:
    """The worst verdict of all, `ok` where there is none."""
    return max((f.verdict for f in findings), key=VERDICTS.index, default=OK)
