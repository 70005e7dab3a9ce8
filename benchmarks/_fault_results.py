"""What trials of `benchmarks/faults.py` gave: one JSON line each, kept, and told as one table."""

from __future__ import annotations

import json
import os
import statistics
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks._faults import FAULTS, Fault, victim

RESULTS = Path(os.environ.get("RESULTS", str(Path(__file__).parent / "results" / "faults.jsonl")))
CUT_SECONDS = 180.0
LEFT_SECONDS = 10.0


FORM = 2
"""Of a row. Rows of form 1 (without a `form`) counted an alarm about any place as noticing, knew one list of causes
for all stalls, and counted what was left after a `stop`: they are kept in the file and stand in no table."""


@dataclass
class Outcome:
    """Times are seconds after the fault; None where it did not come within the limit. `by`: ours or torchrun.

    The fault came to `node` and `rank`. `noticed` is the first word of the journal about that place, `named` the first
    finding or diagnosis about it. `elsewhere`: the alarms about other places before that. `kept`: whether the newest
    checkpoint that was whole at the fault is whole after the end; None where there was none yet. `left`: processes,
    containers and mounts of the run `LEFT_SECONDS` after it said that it has failed, before anybody asked for a stop
    (`asked` where one was asked for, since the run stood still and did not end); `clean_after`: seconds from that word
    until nothing was left. `busy`: the machine's load average at the fault.
    """

    by: str
    fault: str
    phase: str
    seed: int = 0
    per_node: int = 1
    form: int = FORM
    node: int = 0
    rank: int = 0
    noticed: float | None = None
    named: float | None = None
    said: str = ""
    right_place: bool = False
    right_cause: bool = False
    elsewhere: list[str] = field(default_factory=list)
    kept: bool | None = None
    left: int | None = None
    asked: bool = False
    clean_after: float | None = None
    trouble: str = ""
    busy: float = 0.0
    on: str = ""
    statements: list[str] = field(default_factory=list)

    @property
    def key(self) -> tuple[str, str, str, int, int]:
        return self.by, self.fault, self.phase, self.seed, self.per_node


def begun(by: str, name: str, phase: str, seed: int, per_node: int) -> Outcome:
    node, rank = victim(FAULTS[name], name, phase, seed, per_node)
    return Outcome(by, name, phase, seed, per_node, node=node, rank=rank, on=time.strftime("%Y-%m-%d"))


def known() -> dict[tuple[str, str, str, int, int], Outcome]:
    """The newest outcome of each trial, of this form."""
    found = {}
    for row in rows_of(RESULTS):
        if row.get("form", 1) == FORM and row["fault"] in FAULTS:
            outcome = Outcome(**row)
            found[outcome.key] = outcome
    return found


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def keep(outcome: Outcome) -> None:
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    with RESULTS.open("a") as file:
        file.write(json.dumps(asdict(outcome)) + "\n")


# ---- the table ----

HEAD = (
    "| fault | phase | ranks | came to | noticed, s | named, s | said | place | cause | said of others before | kept "
    "| left | clean after, s | torchrun notices, s | names | load |"
)


def table(outcomes: Iterable[Outcome]) -> str:
    by_key = {o.key: o for o in outcomes}
    names = list(FAULTS)
    mine = sorted(
        (o for o in by_key.values() if o.by == "ours"),
        key=lambda o: (names.index(o.fault), o.per_node, FAULTS[o.fault].phases.index(o.phase), o.seed),
    )
    rows = [row(FAULTS[o.fault], o, by_key.get(("torchrun", *o.key[1:]))) for o in mine]
    return "\n".join([summary(mine), "", HEAD, "|---" * (HEAD.count(" | ") + 1) + "|", *rows])


def row(fault: Fault, mine: Outcome, theirs: Outcome | None) -> str:
    place = f"node{mine.node}" + (f" rank {mine.rank}" if fault.rank else "")
    cells = [mine.fault, mine.phase, f"3 × {mine.per_node}", place, shown(mine.noticed), shown(mine.named)]
    cells.append(mine.trouble or mine.said or "nothing")
    if fault.goes_on:
        cells += ["undisturbed" if mine.right_place else "DISTURBED", "", "", "", "", ""]
    elif mine.trouble:
        cells += ["", "", "", "", "", ""]
    else:
        cells += [word(mine.right_place), word(mine.right_cause), ", ".join(mine.elsewhere)]
        cells += ["" if mine.kept is None else "yes" if mine.kept else "LOST"]
        cells += [f"{mine.left}" + (" (stopped)" if mine.asked else ""), shown(mine.clean_after)]
    cells += (
        ["", ""] if theirs is None else [shown(theirs.noticed, CUT_SECONDS), theirs.trouble or theirs.said]
    )
    return "| " + " | ".join([*(cell.replace("|", "/") for cell in cells), f"{mine.busy:.0f}"]) + " |"


def word(right: bool) -> str:
    return "right" if right else "WRONG"


def shown(seconds: float | None, cut: float | None = None) -> str:
    return f"{seconds:.1f}" if seconds is not None else f"> {cut:.0f}" if cut else ""


def summary(outcomes: list[Outcome]) -> str:
    made = [o for o in outcomes if not o.trouble]
    judged = [o for o in made if not FAULTS[o.fault].goes_on]
    healthy = [o for o in made if FAULTS[o.fault].goes_on]
    if not judged:
        return ""
    late = {name: [o for o in judged if is_late(o, name)] for name in ("noticed", "named")}
    times = {
        name: [t for o in judged if (t := getattr(o, name)) is not None] for name in ("noticed", "named")
    }
    middle = {name: f"{statistics.median(found):.1f} s" if found else "-" for name, found in times.items()}
    saves = [o.kept for o in judged if o.kept is not None]
    ended = [o for o in judged if not o.asked]
    place, cause = share(o.right_place for o in judged), share(o.right_cause for o in judged)
    return (
        f"{len({o.fault for o in made})} kinds of fault, {len(judged)} trials that had to be seen: right place"
        f" **{place}** (aim ≥ 95 %), right cause **{cause}** (aim ≥ 90 %). {len(late['noticed'])} noticed later than"
        f" promised, median {middle['noticed']}; {len(late['named'])} named later than that, median {middle['named']}."
        f" {sum(len(o.elsewhere) for o in judged)} alarms about another place before the right one. The last whole"
        f" checkpoint kept in {share(saves) if saves else 'none'} of {len(saves)}. Of {len(ended)} that ended by"
        f" themselves, {LEFT_SECONDS:.0f} s after their last word {sum(o.left or 0 for o in ended)} processes,"
        f" containers and mounts were left, of the {len(judged) - len(ended)} that were stopped"
        f" {sum(o.left or 0 for o in judged if o.asked)}. {len(healthy)} trials that must not be disturbed:"
        f" {sum(not o.right_place for o in healthy)} disturbed. {len(outcomes) - len(made)} could not be made here."
        f" `load` is the machine's load average at the fault: other work beside it makes times longer, never shorter."
    )


def is_late(outcome: Outcome, name: str) -> bool:
    at = getattr(outcome, name)
    return at is None or at > FAULTS[outcome.fault].limit


def share(values: Iterable[bool | None]) -> str:
    listed = list(values)
    return f"{sum(bool(v) for v in listed) / len(listed):.0%}"
