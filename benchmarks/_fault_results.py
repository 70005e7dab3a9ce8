"""What trials of `benchmarks/faults.py` gave: one JSON line each, kept, and told as tables."""

from __future__ import annotations

import json
import os
import random
import statistics
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks._fault import Fault, draw, victim
from benchmarks._faults import FAULTS

RESULTS = Path(os.environ.get("RESULTS", str(Path(__file__).parent / "results" / "faults.jsonl")))
CUT_SECONDS = 180.0
PLAIN_SECONDS = 60.0
LEFT_SECONDS = 10.0

FORM = 3
TOLD = (2, FORM)
"""Of a row. Rows of form 1 (without a `form`) counted an alarm about any place as noticing, and what was left after a
`stop`: they are kept in the file and stand in no table. In those of form 2 all kinds came to the rig, and no strangers
stood beside it."""

Key = tuple[str, str, str, int, int, int]


@dataclass
class Outcome:
    """Times are seconds after the fault; None where it did not come within the limit. `by`: ours or torchrun.

    The fault came to `node` and `rank`, the `second` one, if there are two, to its own. `series`: the number of a
    trial that was drawn, 0 for those of the table. `noticed` is the first word of the journal about that place, `named`
    the first finding or diagnosis about it. `elsewhere`: the alarms about other places before that. `kept`: whether the
    newest checkpoint that was whole at the fault is whole after the end; None where there was none yet. `left`:
    processes, containers and mounts of the run `LEFT_SECONDS` after it said that it has failed, before anybody asked
    for a stop (`asked` where one was asked for, since the run stood still and did not end); `clean_after`: seconds from
    that word until nothing was left. `files_left`: files of the run in /tmp and /dev/shm after a clean. `strangers`:
    processes and files of others that were harmed. `busy`: the machine's load average at the fault. `again`: why a
    measured trial was measured again.
    """

    by: str
    fault: str
    phase: str
    seed: int = 0
    per_node: int = 1
    form: int = FORM
    node: int = 0
    rank: int = 0
    step: int = 25
    series: int = 0
    second: str = ""
    second_node: int = 0
    second_rank: int = 0
    noticed: float | None = None
    named: float | None = None
    said: str = ""
    right_place: bool = False
    right_cause: bool = False
    elsewhere: list[str] = field(default_factory=list)
    kept: bool | None = None
    left: int | None = None
    files_left: int | None = None
    strangers: list[str] | None = None
    asked: bool = False
    clean_after: float | None = None
    trouble: str = ""
    busy: float = 0.0
    on: str = ""
    statements: list[str] = field(default_factory=list)
    again: str = ""

    @property
    def key(self) -> Key:
        if self.series:
            return self.by, "", "", 0, 1, self.series
        return self.by, self.fault, self.phase, self.seed, self.per_node, 0

    @property
    def goes_on(self) -> bool:
        return FAULTS[self.fault].goes_on


def begun(by: str, name: str, phase: str, seed: int, per_node: int) -> Outcome:
    node, rank = victim(FAULTS[name], name, phase, seed, per_node)
    on, step = time.strftime("%Y-%m-%d"), 25 + 10 * seed
    return Outcome(by, name, phase, seed, per_node, node=node, rank=rank, step=step, on=on)


def drawn(number: int) -> Outcome:
    """A trial of the second series, one rank per node."""
    one = draw(FAULTS, number)
    outcome = Outcome("ours", one.kinds[0], one.phase, on=time.strftime("%Y-%m-%d"), series=number)
    outcome.node, outcome.step = one.places[0], one.step
    outcome.rank = outcome.node - 1
    if len(one.kinds) > 1:
        outcome.second, outcome.second_node = one.kinds[1], one.places[1]
        outcome.second_rank = outcome.second_node - 1
    return outcome


def tries() -> dict[Key, list[Outcome]]:
    """All outcomes of each trial in their order, of the forms that are told."""
    found: dict[Key, list[Outcome]] = {}
    for row in rows_of(RESULTS):
        if row.get("form", 1) in TOLD and row["fault"] in FAULTS:
            outcome = Outcome(**row)
            found.setdefault(outcome.key, []).append(outcome)
    return found


def known() -> dict[Key, Outcome]:
    """The newest outcome of each trial."""
    return {key: outcomes[-1] for key, outcomes in tries().items()}


def first(outcomes: list[Outcome]) -> Outcome:
    """The first try that could be made, in the present form if the trial was made in it at all."""
    made = [o for o in outcomes if not o.trouble] or outcomes
    return next((o for o in made if o.form == FORM), made[-1])


def older(count: int) -> list[Outcome]:
    """A sample, always the same one, of the trials of ours that had rows of form 2 alone; not begun."""
    told = [
        (key, outcomes) for key, outcomes in tries().items() if key[0] == "ours" and outcomes[0].form != FORM
    ]
    keys = sorted(key for key, outcomes in told if all(o.again for o in outcomes if o.form == FORM))
    return [begun(*key[:5]) for key in random.Random("older rows").sample(keys, min(count, len(keys)))]


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def keep(outcome: Outcome) -> None:
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    with RESULTS.open("a") as file:
        file.write(json.dumps(asdict(outcome)) + "\n")


# ---- the tables ----

HEAD = (
    "| fault | phase | ranks | came to | noticed, s | named, s | said | place | cause | said of others before | kept "
    "| left | clean after, s | torchrun notices, s | names | load |"
)


def table(measured: dict[Key, list[Outcome]]) -> str:
    by_key = {key: outcomes[-1] for key, outcomes in measured.items()}
    names = list(FAULTS)
    mine = [o for o in by_key.values() if o.by == "ours" and not o.series]
    mine.sort(key=lambda o: (names.index(o.fault), o.per_node, FAULTS[o.fault].phases.index(o.phase), o.seed))
    drawn = sorted((o for o in by_key.values() if o.series and o.by == "ours"), key=lambda o: o.series)
    parts = _part(mine, measured)
    if drawn:
        parts += [
            "",
            "**Drawn by a seed from all kinds: kind, moment and place; now and then two at once**",
            "",
        ]
        parts += _part(drawn, measured)
    return "\n".join(parts)


def _part(mine: list[Outcome], measured: dict[Key, list[Outcome]]) -> list[str]:
    """What the first tries gave, where some were repeated, and the table of the newest."""
    parts, firsts = [], [first(measured[o.key]) for o in mine]
    if firsts != mine:
        parts += ["First tries alone, as they were judged then:", "", summary(firsts), misses(firsts), ""]
        parts += ["With the newest try of each trial:", ""]
    return [*parts, summary(mine), repeated(mine, measured), misses(mine), "", *_rows(mine, measured)]


def repeated(mine: list[Outcome], measured: dict[Key, list[Outcome]]) -> str:
    """How many of these trials were measured again, why, and for how many the verdict is as before."""
    found: dict[str, list[bool]] = {}
    for newest in mine:
        before = [o for o in measured[newest.key] if not o.trouble and o is not newest]
        if before and is_again(newest, measured):
            why = newest.again or "after a miss, on the same day"
            found.setdefault(why, []).append(verdict(before[-1]) == verdict(newest))
    if not found:
        return ""
    lines = [
        f"- {why}: {len(same)} measured, {sum(same)} with the same verdict" for why, same in found.items()
    ]
    return "\n".join(["", "Measured again (the table has the newest try and marks it):", "", *lines])


def is_again(newest: Outcome, measured: dict[Key, list[Outcome]]) -> bool:
    return bool(newest.again) or (first(measured[newest.key]) is not newest and newest.form == FORM)


def verdict(outcome: Outcome) -> tuple[object, ...]:
    """What a trial says about the product, without its times."""
    judged = outcome.right_place, outcome.right_cause or outcome.goes_on
    return *judged, outcome.kept is False, bool(outcome.left), bool(outcome.trouble)


def _rows(mine: list[Outcome], measured: dict[Key, list[Outcome]]) -> list[str]:
    rows = []
    for one in mine:
        theirs = measured.get(("torchrun", *one.key[1:]), [None])[-1]
        rows.append(row(FAULTS[one.fault], one, theirs, is_again(one, measured)))
    return [HEAD, "|---" * (HEAD.count(" | ") + 1) + "|", *rows]


def row(fault: Fault, mine: Outcome, theirs: Outcome | None, again: bool = False) -> str:
    place = f"node{mine.node}" + (f" rank {mine.rank}" if fault.rank else "")
    name, phase = mine.fault, mine.phase
    if mine.second:
        second = f"node{mine.second_node}" + f" rank {mine.second_rank}" * FAULTS[mine.second].rank
        name, place = f"{name} + {mine.second}", f"{place} + {second}"
    if mine.series:
        name, phase = f"{mine.series}: {name}", f"{phase}, step {mine.step}"
    name += " (again)" if again else ""
    cells = [name, phase, f"3 × {mine.per_node}", place, shown(mine.noticed), shown(mine.named)]
    cells.append(mine.trouble or mine.said or "nothing")
    if mine.goes_on:
        cells += ["undisturbed" if mine.right_place else "DISTURBED", "", "", "", "", ""]
    elif mine.trouble:
        cells += ["", "", "", "", "", ""]
    else:
        cells += [word(mine.right_place), word(mine.right_cause), ", ".join(mine.elsewhere)]
        cells += ["" if mine.kept is None else "yes" if mine.kept else "LOST"]
        cells += [f"{mine.left}" + (" (stopped)" if mine.asked else ""), shown(mine.clean_after)]
    names = (
        ["", ""] if theirs is None else [shown(theirs.noticed, PLAIN_SECONDS), theirs.trouble or theirs.said]
    )
    cells += names
    return "| " + " | ".join([*(cell.replace("|", "/") for cell in cells), f"{mine.busy:.0f}"]) + " |"


def word(right: bool) -> str:
    return "right" if right else "WRONG"


def shown(seconds: float | None, cut: float | None = None) -> str:
    return f"{seconds:.1f}" if seconds is not None else f"> {cut:.0f}" if cut else ""


def summary(outcomes: list[Outcome]) -> str:
    made = [o for o in outcomes if not o.trouble]
    judged = [o for o in made if not o.goes_on]
    healthy = [o for o in made if o.goes_on]
    if not judged:
        return ""
    late = {name: [o for o in judged if is_late(o, name)] for name in ("noticed", "named")}
    times = {
        name: [t for o in judged if (t := getattr(o, name)) is not None] for name in ("noticed", "named")
    }
    middle = {name: f"{statistics.median(found):.1f} s" if found else "-" for name, found in times.items()}
    saves = [o.kept for o in made if o.kept is not None]
    ended = [o for o in judged if not o.asked]
    place, cause = share(o.right_place for o in judged), share(o.right_cause for o in judged)
    kinds = len({name for o in made for name in (o.fault, o.second) if name})
    beside = [o for o in made if o.strangers is not None]
    older = sum(o.form != FORM for o in made)
    return (
        f"{kinds} kinds of fault, {len(judged)} trials that had to be seen: right place"
        f" **{place}** (aim ≥ 97 %), right cause **{cause}** (aim ≥ 95 %). {len(late['noticed'])} noticed later than"
        f" promised, median {middle['noticed']}; {len(late['named'])} named later than that, median {middle['named']}."
        f" {sum(len(o.elsewhere) for o in judged)} alarms about another place before the right one. The last whole"
        f" checkpoint kept in {share(saves) if saves else 'none'} of {len(saves)}. Of {len(ended)} that ended by"
        f" themselves, {LEFT_SECONDS:.0f} s after their last word {sum(o.left or 0 for o in ended)} processes,"
        f" containers and mounts were left, of the {len(judged) - len(ended)} that were stopped"
        f" {sum(o.left or 0 for o in judged if o.asked)}; {sum(o.files_left or 0 for o in made)} files after a clean."
        f" Beside {len(beside)} of them strangers ran: {sum(bool(o.strangers) for o in beside)} times one was harmed."
        f" {len(healthy)} trials that must not be disturbed: {sum(not o.right_place for o in healthy)} disturbed."
        f" {len(outcomes) - len(made)} could not be made here. `load` is the machine's load average at the fault: other"
        f" work beside it makes times longer, never shorter."
        + (f" {older} of these rows are older (2026-11-22, all on the rig)." if older else "")
    )


def misses(outcomes: list[Outcome]) -> str:
    """What is not right, said before the table."""
    lines = []
    for o in outcomes:
        bad = not o.right_place or not (o.right_cause or o.goes_on) or o.kept is False or bool(o.left)
        if not o.trouble and (bad or o.files_left or o.strangers):
            names = " + ".join(filter(None, (o.fault, o.second)))
            more = [f"harmed: {', '.join(o.strangers)}"] if o.strangers else []
            more += ["the last checkpoint is lost"] if o.kept is False else []
            more += [f"{o.left} left"] if o.left else []
            more += [f"{o.files_left} files left"] if o.files_left else []
            told = "; ".join([f"said {o.said or 'nothing'}", *more])
            lines.append(f"- {names}, {o.phase}, node{o.node}: {told}")
    return "\n".join(["", "Misses:", "", *lines]) if lines else ""


def limit_of(outcome: Outcome) -> float:
    return max(FAULTS[name].limit for name in (outcome.fault, outcome.second) if name)


def is_late(outcome: Outcome, name: str) -> bool:
    at = getattr(outcome, name)
    return at is None or at > limit_of(outcome)


def share(values: Iterable[bool | None]) -> str:
    listed = list(values)
    return f"{100 * sum(bool(v) for v in listed) / len(listed):.3g}%"
