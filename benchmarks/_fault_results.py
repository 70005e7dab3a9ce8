"""What trials of `benchmarks/faults.py` gave: one JSON line each, kept, and told as one table."""

from __future__ import annotations

import json
import os
import statistics
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from benchmarks._faults import FAULTS, Fault

RESULTS = Path(os.environ.get("RESULTS", str(Path(__file__).parent / "results" / "faults.jsonl")))
CUT_SECONDS = 180.0


@dataclass
class Outcome:
    """Times are seconds after the fault; None where it did not come within the limit. `by`: ours or torchrun.

    `kept`: whether the newest checkpoint that was whole at the fault is whole after the end; None where there was
    none yet. `left`: processes, containers and mounts of the run after its end. `busy`: the machine's load average
    at the fault, for a time that a busy machine made longer.
    """

    by: str
    fault: str
    phase: str
    seed: int = 0
    per_node: int = 1
    noticed: float | None = None
    named: float | None = None
    said: str = ""
    right_place: bool = False
    right_cause: bool = False
    kept: bool | None = None
    left: int | None = None
    trouble: str = ""
    busy: float = 0.0
    on: str = ""
    statements: list[str] = field(default_factory=list)

    @property
    def key(self) -> tuple[str, str, str, int, int]:
        return self.by, self.fault, self.phase, self.seed, self.per_node


def known() -> dict[tuple[str, str, str, int, int], Outcome]:
    """The newest outcome of each trial."""
    found = {}
    for line in RESULTS.read_text().splitlines() if RESULTS.exists() else ():
        outcome = Outcome(**json.loads(line))
        if outcome.fault in FAULTS:
            found[outcome.key] = outcome
    return found


def keep(outcome: Outcome) -> None:
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    with RESULTS.open("a") as file:
        file.write(json.dumps(asdict(outcome)) + "\n")


# ---- the table ----

HEAD = (
    "| fault | phase | ranks | noticed, s | named, s | said | place | cause | kept | left "
    "| torchrun notices, s | names | load |"
)


def table(outcomes: Iterable[Outcome]) -> str:
    by_key = {o.key: o for o in outcomes}
    names = list(FAULTS)
    mine = sorted(
        (o for o in by_key.values() if o.by == "ours"),
        key=lambda o: (names.index(o.fault), o.per_node, FAULTS[o.fault].phases.index(o.phase), o.seed),
    )
    rows = [row(FAULTS[o.fault], o, by_key.get(("torchrun", *o.key[1:]))) for o in mine]
    return "\n".join([summary(mine), "", HEAD, "|---" * HEAD.count(" | ") + "|---|", *rows])


def row(fault: Fault, mine: Outcome, theirs: Outcome | None) -> str:
    cells = [mine.fault, mine.phase, f"3 × {mine.per_node}", shown(mine.noticed), shown(mine.named)]
    cells.append(mine.trouble or mine.said or "nothing")
    if fault.goes_on:
        cells += ["undisturbed" if mine.right_place else "DISTURBED", "", "", ""]
    elif mine.trouble:
        cells += ["", "", "", ""]
    else:
        cells += [word(mine.right_place), word(mine.right_cause)]
        cells += ["" if mine.kept is None else "yes" if mine.kept else "LOST", str(mine.left)]
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
    late = [o for o in judged if o.noticed is None or o.noticed > FAULTS[o.fault].limit]
    waits = [o.noticed for o in judged if o.noticed is not None]
    saves = [o.kept for o in judged if o.kept is not None]
    place, cause = share(o.right_place for o in judged), share(o.right_cause for o in judged)
    kinds, wait = len({o.fault for o in made}), statistics.median(waits) if waits else 0.0
    return (
        f"{kinds} kinds of fault, {len(judged)} trials that had to be seen: right place **{place}** (aim ≥ 95 %), right"
        f" cause **{cause}** (aim ≥ 90 %), {len(late)} noticed later than promised, median {wait:.1f} s; the last whole"
        f" checkpoint kept in {share(saves) if saves else 'none'} of {len(saves)}; left after the end:"
        f" {sum(o.left or 0 for o in judged)} (processes, containers, mounts). {len(healthy)} trials that must not be"
        f" disturbed: {sum(not o.right_place for o in healthy)} disturbed. {len(outcomes) - len(made)} could not be"
        f" made here. `load` is the machine's load average on its 2 cores at the fault: other work ran beside these"
        f" trials, which makes times longer, never shorter."
    )


def share(values: Iterable[bool | None]) -> str:
    listed = list(values)
    return f"{sum(bool(v) for v in listed) / len(listed):.0%}"
