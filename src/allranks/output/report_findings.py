"""Folds findings: the same statement about many nodes becomes one statement. The worst comes first. Pure.

Findings come from a journal here. `finding_of` and similar functions turn any value into the form that allranks
writes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Dict, Iterable, List, Mapping, Optional, Pattern, Tuple

from allranks.core import BLOCK, NOTE, OK, UNKNOWN, VERDICTS, WARN
from allranks.core.text import fold, spans
from allranks.core.untrusted import integer, number
from allranks.output.report_text import one_line

CALLED = {BLOCK: "error", UNKNOWN: "unknown", WARN: "warning", NOTE: "note", OK: "fine"}
MANY = {BLOCK: "errors", WARN: "warnings", NOTE: "notes"}

Wheres = List[Mapping[str, Any]]


def where_of(raw: Any) -> Dict[str, Any]:
    """A place in the form that allranks writes, from any value in a journal: names are text, numbers are whole."""
    raw = raw if isinstance(raw, Mapping) else {}
    found: Dict[str, Any] = {name: integer(raw.get(name)) for name in ("rank", "gpu", "line")}
    for name in ("node", "file"):
        found[name] = None if raw.get(name) is None else str(raw[name])
    return found


def lines_of(raw: Any, most: int = 200) -> List[str]:
    return [str(line) for line in raw[:most]] if isinstance(raw, (list, tuple)) else []


def finding_of(raw: Any) -> Dict[str, Any]:
    """A finding in the form that allranks writes. An unknown verdict becomes `unknown`, never `fine`."""
    raw = raw if isinstance(raw, Mapping) else {}
    found: Dict[str, Any] = {name: text_of(raw.get(name)) for name in ("id", "saw", "expected", "why", "fix")}
    said = raw.get("verdict")
    found["verdict"] = said if isinstance(said, str) and said in VERDICTS else UNKNOWN
    found["where"] = where_of(raw.get("where"))
    found["evidence"] = lines_of(raw.get("evidence"))
    return found


def diagnosis_of(raw: Any) -> Optional[Dict[str, Any]]:
    """A diagnosis in the form that allranks writes; None if there is none."""
    if not isinstance(raw, Mapping) or not raw:
        return None
    found: Dict[str, Any] = {name: text_of(raw.get(name)) for name in ("cause", "confidence", "why", "fix")}
    found["where"] = where_of(raw.get("where"))
    found["first_seen"] = number(raw.get("first_seen"))
    found["evidence"] = lines_of(raw.get("evidence"))
    others = raw.get("collateral")
    found["collateral"] = [where_of(w) for w in others[:20_000]] if isinstance(others, (list, tuple)) else []
    return found


def blamed(data: Mapping[str, Any]) -> Optional[Dict[str, Any]]:
    """The cause of a run's end: its diagnosis; if a failed run has no diagnosis, its first finding that is an error."""
    found = data.get("diagnosis")
    if found or data["state"].get("state") != "failed":
        return found
    errors = [finding for finding in map(finding_of, data["findings"]) if finding["verdict"] == BLOCK]
    if not errors:
        return None
    first = errors[0]
    kept = {name: first[name] for name in ("where", "why", "fix", "evidence")}
    return {**kept, "cause": first["id"], "confidence": "", "first_seen": None, "collateral": []}


def adapter_of(raw: Any) -> Dict[str, Any]:
    """The adapter of a state. A bare path means an adapter that was not verified; without an adapter the mapping is
    empty."""
    if isinstance(raw, str):
        return {"path": raw}
    if not isinstance(raw, Mapping):
        return {}
    numbers = ("tensors", "parameters", "step", "bytes", "max_difference")
    found: Dict[str, Any] = {name: number(raw.get(name)) for name in numbers}
    for name in ("path", "sha256", "digest"):
        found[name] = text_of(raw.get(name)) or None
    for name in ("whole", "changed"):
        found[name] = raw.get(name) if isinstance(raw.get(name), bool) else None
    return found if any(value is not None for value in found.values()) else {}


def saves_of(raw: Any) -> List[Dict[str, Any]]:
    """The saves of a script, newest first, from any value in a state."""
    found: List[Dict[str, Any]] = []
    for one in raw[:50] if isinstance(raw, (list, tuple)) else ():
        if isinstance(one, Mapping) and one.get("path"):
            texts = {name: text_of(one.get(name)) for name in ("path", "title", "text", "why")}
            whole = one.get("whole") if isinstance(one.get("whole"), bool) else None
            found.append({**texts, "step": integer(one.get("step")), "whole": whole})
    return found


def text_of(raw: Any) -> str:
    return "" if raw is None else str(raw)


@dataclass
class Folded:
    """One statement and all places that it is about."""

    finding: Mapping[str, Any]
    wheres: Wheres

    @property
    def verdict(self) -> str:
        return str(self.finding["verdict"])

    def place(self) -> str:
        """The place, without a rank that the statement itself names."""
        return place(unsaid(self.wheres, self.text("saw")))

    def text(self, name: str) -> str:
        return str(self.finding.get(name) or "")


TEXTS = ("saw", "expected", "why", "fix")
SELF, ITS_ADDRESS = "\ue000", "\ue001"
"""Marks for the finding's own node while statements are compared. No text of allranks contains them."""


def folded(findings: Iterable[Any], addresses: Optional[Mapping[str, str]] = None) -> List[Folded]:
    """The folded findings, worst first; findings of one verdict keep their order.

    Statements that differ only in the name of their own node become one. The same holds for the node's address, if
    `addresses` has it: `node-[1-3] has driver 570.86.15`.
    """
    groups: Dict[Tuple[str, ...], Folded] = {}
    for finding in map(finding_of, findings):
        where = finding["where"]
        same = nameless(finding, (addresses or {}).get(str(where["node"])))
        parts = (finding["verdict"], finding["id"], same["saw"], same["why"], same["fix"])
        key = tuple(str(part) for part in (*parts, where["file"], where["line"]))
        groups.setdefault(key, Folded({**finding, "nameless": same}, [])).wheres.append(where)
    found = [Folded(named(group, addresses or {}), group.wheres) for group in groups.values()]
    return sorted(found, key=lambda group: -VERDICTS.index(group.verdict))


def nameless(finding: Mapping[str, Any], address: Optional[str]) -> Dict[str, str]:
    """The finding's texts without the name and address of its own node."""
    node = finding["where"]["node"]
    texts = {name: str(finding[name]) for name in TEXTS}
    for own, sign in ((node, SELF), (address, ITS_ADDRESS)):
        # A name that consists of digits could be any number in the text.
        if own and not own.isdigit():
            pattern = _whole_word(own)
            texts = {name: pattern.sub(sign, text) for name, text in texts.items()}
    return texts


@lru_cache(maxsize=4096)
def _whole_word(word: str) -> "Pattern[str]":
    """Matches the word, but not as a part of a longer name or address: node-1 is not in node-10, 10.0.0.1 not in
    10.0.0.12."""
    return re.compile(rf"(?<![\w.-]){re.escape(word)}(?![\w-]|\.\w)")


def named(group: Folded, addresses: Mapping[str, str]) -> Dict[str, Any]:
    """The statement with its place or places."""
    finding = {name: value for name, value in group.finding.items() if name != "nameless"}
    nodes = {str(where["node"]) for where in group.wheres if where["node"] is not None}
    if len(nodes) > 1:
        names, their = fold(nodes), fold(addresses[name] for name in nodes if name in addresses)
        texts = group.finding["nameless"]
        finding.update({name: texts[name].replace(SELF, names).replace(ITS_ADDRESS, their) for name in TEXTS})
    return finding


def unsaid(wheres: Wheres, said: str) -> Wheres:
    """The places without the parts that the text already contains: `node-1  rank 1 was killed`, not `node-1 rank 1
    rank 1 …`."""
    return [_unsaid(where, said) for where in wheres]


def _unsaid(where: Mapping[str, Any], said: str) -> Mapping[str, Any]:
    rank, node = where.get("rank"), where.get("node")
    if re.search(rf"\brank {rank} on {re.escape(str(node))}(?![\w-]|\.\w)", said):
        return {**where, "rank": None, "node": None}
    return {**where, "rank": None} if f"rank {rank} " in said else where


def place(wheres: Wheres) -> str:
    """The places of one statement as text: `run.yaml:25`, `node-[0-2]`, `node-1 rank 8-15`."""
    parts = []
    for where in wheres[:1]:
        if where.get("file"):
            line = where.get("line")
            parts.append(one_line(f"{where['file']}:{line}" if line else where["file"], 300))
    names = [str(w["node"]) for w in wheres if w.get("node") is not None]
    if names:
        parts.append(one_line(fold(names), 600))
    for name in ("rank", "gpu"):
        numbers = [n for n in (integer(w.get(name)) for w in wheres) if n is not None]
        if numbers:
            parts.append(f"{name if len(set(numbers)) == 1 else name + 's'} {spans(numbers)}")
    return " ".join(parts)


def count_text(groups: Iterable[Folded]) -> str:
    """`1 error, 2 warnings, 14 fine`."""
    amounts = counted(groups).items()
    return ", ".join(
        f"{n:,} {CALLED[name] if n == 1 else MANY.get(name, CALLED[name])}" for name, n in amounts
    )


def counted(groups: Iterable[Folded]) -> Dict[str, int]:
    """The number of statements of each verdict, worst first. A folded statement counts once for each place."""
    amounts = {name: 0 for name in reversed(VERDICTS)}
    for group in groups:
        amounts[group.verdict] += len(group.wheres)
    return {name: amount for name, amount in amounts.items() if amount}
