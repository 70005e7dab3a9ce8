"""How well `diagnose` names causes in public logs.

    ALLRANKS_LOGS=FOLDER[:FOLDER…] python -m benchmarks diagnose_corpus
    ALLRANKS_LOGS=FOLDER[:FOLDER…] python -m benchmarks.diagnose_corpus HALF [--record]

The texts may not be copied into the project: `benchmarks/corpora/diagnose.jsonl` has a pointer and our label for each
of them. A folder holds `pointers.jsonl` (a line a log: `id`, `kind` healthy or no-log, `half`, `source`), the texts of
these as `texts/ID`, and `threads.jsonl` (failures: also `label`, `accept`, `rank`, `log`). What was expected was
decided from each thread, not from the answer.

`half` says when a case was drawn: `seen` while patterns were written; `apart` then too, and kept apart until a later
round looked at it; `fresh` to `twenty-sixth` after the patterns were written, so their first run is the figure that
counts; `ranks` as `ninth`, of texts alone that show which rank failed first; `culprits`, `nineteenth` and
`twenty-fourth` too, retold in other words; `twelfth` to `fourteenth`, `sixteenth` to `eighteenth`, `twentieth` to
`twenty-second`, `twenty-fifth` and `twenty-sixth` are whole files; `raised` and `raised by libraries` have messages of
`raise` and `assert` statements in public code, those of libraries half of them under a traceback that we made.
`--record` keeps what was said then in `benchmarks/results/diagnose.jsonl`; without it, the second form prints what is
wrong in that half now. The first tries need no texts; a half whose texts are in no folder has no line for `now`.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from allranks.diagnose import cause, diagnose, parse

TITLE = "Naming causes in public logs"
ON_REQUEST = True
SURE = ("certain", "likely", "unproven")
FIRST = Path(__file__).resolve().parent / "results" / "diagnose.jsonl"
POINTERS = Path(__file__).resolve().parent / "corpora" / "diagnose.jsonl"
HALVES = {
    "raised": "messages that programs raise",
    "raised by libraries": "messages that libraries raise",
    "twenty-sixth": "files as repositories have them",
    "twenty-fifth": "files as repositories have them",
    "twenty-fourth": "excerpts that show a culprit",
    "twenty-third": "excerpts",
    "twenty-second": "files as repositories have them",
    "twenty-first": "files as repositories have them",
    "twentieth": "files as repositories have them",
    "nineteenth": "excerpts that show a culprit",
    "eighteenth": "files as repositories have them",
    "seventeenth": "files as repositories had them",
    "sixteenth": "files as repositories have them",
    "fifteenth": "excerpts",
    "fourteenth": "whole files",
    "thirteenth": "whole files",
    "twelfth": "whole files",
    "culprits": "excerpts that show a culprit",
    "eleventh": "excerpts",
    "tenth": "excerpts",
    "ranks": "excerpts that show a culprit",
    "ninth": "excerpts",
    "eighth": "excerpts",
    "seventh": "excerpts",
    "sixth": "excerpts",
    "fifth": "error lines",
    "fourth": "error lines",
    "third": "error lines",
    "second": "error lines",
    "fresh": "error lines",
    "apart": "error lines",
    "seen": "error lines",
}
"""The newest first."""


class Said(NamedTuple):
    """What diagnose says of a case."""

    case: dict[str, Any]
    cause: str
    sure: str
    rank: int | None

    @property
    def is_right(self) -> bool:
        """Of a log without a failure every named cause is wrong."""
        if self.case["kind"] != "failure":
            return self.cause == "unproven" or cause(self.cause).healthy
        return self.cause in (self.case["label"], *self.case["accept"])


def folders() -> list[Path]:
    named = os.environ.get("ALLRANKS_LOGS")
    if not named:
        sys.exit("ALLRANKS_LOGS names no folder of logs")
    return [Path(part) for part in named.split(":")]


def cases(folder: Path) -> Iterator[dict[str, Any]]:
    for line in (folder / "pointers.jsonl").read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        text = (folder / "texts" / case["id"]).read_text(encoding="utf-8", errors="replace")
        yield {**case, "log": text, "rank": None, "accept": []}
    for line in (folder / "threads.jsonl").read_text(encoding="utf-8").splitlines():
        yield json.loads(line)


def now(half: str) -> list[Said]:
    found = []
    for case in (case for folder in folders() for case in cases(folder)):
        if case["half"] == half:
            told = diagnose(parse(case["log"], "x.log"))
            found.append(Said(case, told.cause, told.confidence, told.where.rank))
    return found


def at_first(half: str) -> list[Said]:
    """What was recorded when this half was read for the first time."""
    if not FIRST.exists():
        return []
    recorded = {row["id"]: row for row in map(json.loads, FIRST.read_text(encoding="utf-8").splitlines())}
    pointers = map(json.loads, POINTERS.read_text(encoding="utf-8").splitlines())
    every = ({"rank": None, "accept": [], **case} for case in pointers if case["half"] == half)
    kept = [(case, recorded[case["id"]]) for case in every if case["id"] in recorded]
    return [Said(case, row["said"], row["sure"], row["rank"]) for case, row in kept]


def record(half: str) -> None:
    """Keeps the answers, once: a first try cannot be repeated."""
    if at_first(half):
        sys.exit(f"{FIRST} holds the first try of {half} already")
    rows = [
        json.dumps({"id": one.case["id"], "said": one.cause, "sure": one.sure, "rank": one.rank})
        for one in now(half)
    ]
    known = FIRST.read_text(encoding="utf-8") if FIRST.exists() else ""
    FIRST.write_text(known + "".join(f"{row}\n" for row in rows), encoding="utf-8")


HEAD = (
    "| half | texts | failures right | certain | likely | unproven | healthy: false | others: false | culprit |",
    "|---|---|---|---|---|---|---|---|---|",
)


def share(told: Iterable[Said]) -> str:
    """`right/all`; a dash for none."""
    every = [one.is_right for one in told]
    return f"{sum(every)}/{len(every)}" if every else "–"


def row(half: str, told: list[Said]) -> str:
    """What was said of a half: right or acceptable of all failures and of each confidence, false causes in logs without
    a failure, culprits named where the text holds one."""
    failed = [one for one in told if one.case["kind"] == "failure"]
    cells = [share(failed), *(share(one for one in failed if one.sure == sure) for sure in SURE)]
    for kind in ("healthy", "no-log"):
        mine = [one for one in told if one.case["kind"] == kind]
        cells.append(f"{sum(not one.is_right for one in mine)}/{len(mine)}" if mine else "–")
    named = [one for one in failed if one.case["rank"] is not None]
    cells.append(f"{sum(one.rank == one.case['rank'] for one in named)}/{len(named)}" if named else "–")
    return f"| `{half}` | {HALVES[half]} | " + " | ".join(cells) + " |"


def measure() -> str:
    first = {half: told for half in HALVES if (told := at_first(half))}
    again = {half: told for half in HALVES if (told := now(half))}
    parts = ["### The first tries", "", *HEAD, *(row(half, told) for half, told in first.items()), ""]
    if again:
        parts += ["### Now, after these cases were looked at", "", *HEAD]
        parts += [*(row(half, told) for half, told in again.items()), ""]
    drawn = [told for half, told in first.items() if not half.startswith("raised")]
    failed = [one for told in drawn for one in told if one.case["kind"] == "failure"]
    return "\n".join([*parts, "### The first tries by cause", "", *table(failed)])


def table(failed: list[Said]) -> list[str]:
    """An answer that is acceptable counts for the case's own label."""
    pairs = [(one.case["label"], one.case["label"] if one.is_right else one.cause) for one in failed]
    rows = ["| cause | cases | precision | recall |", "|---|---|---|---|"]
    for label in sorted({name for pair in pairs for name in pair}):
        true, said = sum(a == label for a, _ in pairs), sum(b == label for _, b in pairs)
        both = sum(a == b == label for a, b in pairs)
        precision = f"{both / said:.2f}" if said else "–"
        rows.append(f"| {label} | {true} | {precision} | {f'{both / true:.2f}' if true else '–'} |")
    return rows


if __name__ == "__main__":
    if "--record" in sys.argv:
        record(sys.argv[1])
    for one in now(sys.argv[1]):
        if not one.is_right or one.case["rank"] not in (None, one.rank):
            found = f"said {one.cause} ({one.sure}), rank {one.rank}"
            print(f"{one.case['id']} {one.case['source']} is {one.case.get('label')}: {found}")
