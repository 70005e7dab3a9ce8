"""How well `diagnose` names causes in public logs that its authors did not look at while they wrote its patterns.

    ALLRANKS_LOGS=FOLDER python -m benchmarks diagnose_corpus

The folder holds what may not be copied here: `pointers.jsonl` (a line a log: `id`, `kind` healthy or no-log, `half`,
`source`), the texts of these as `texts/ID`, and `threads.jsonl` (failures: also `label`, `accept`, `rank`, `log`). What
was expected was decided from each thread, not from the answer. `half` is `seen` or `apart`, by a seed; only the half
that was kept apart counts. `--seen` prints what was wrong in the other one.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from allranks.diagnose import cause, diagnose, parse

TITLE = "Naming causes in public logs"
ON_REQUEST = True
SURE = ("certain", "likely", "unproven")


def cases(folder: Path) -> Iterator[dict[str, Any]]:
    for line in (folder / "pointers.jsonl").read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        text = (folder / "texts" / case["id"]).read_text(encoding="utf-8", errors="replace")
        yield {**case, "log": text, "rank": None, "accept": []}
    for line in (folder / "threads.jsonl").read_text(encoding="utf-8").splitlines():
        yield json.loads(line)


def is_right(case: dict[str, Any], said: str) -> bool:
    """Of a log without a failure every named cause is wrong."""
    if case["kind"] != "failure":
        return said == "unproven" or cause(said).healthy
    return said in (case["label"], *case["accept"])


def results(folder: Path, half: str) -> list[tuple[dict[str, Any], str, str, int | None]]:
    """(case, cause, confidence, rank) of each."""
    found = []
    for case in cases(folder):
        if case["half"] == half:
            told = diagnose(parse(case["log"], "x.log"))
            found.append((case, told.cause, told.confidence, told.where.rank))
    return found


def measure() -> str:
    folder = os.environ.get("ALLRANKS_LOGS")
    if not folder:
        sys.exit("ALLRANKS_LOGS names no folder of logs")
    told = results(Path(folder), "apart")
    rows = []
    for kind in ("healthy", "no-log"):
        mine = [one for one in told if one[0]["kind"] == kind]
        false = sum(not is_right(case, said) for case, said, _, _ in mine)
        rows.append(f"- {kind}: a false cause in {false} of {len(mine)}")
    failed = [one for one in told if one[0]["kind"] == "failure"]
    right = sum(is_right(case, said) for case, said, _, _ in failed)
    causes = len({case["label"] for case, _, _, _ in failed})
    rows.append(
        f"- failures: right or acceptable in {right} of {len(failed)} ({right / len(failed):.0%}), {causes} causes"
    )
    counted = Counter((sure, is_right(case, said)) for case, said, sure, _ in failed)
    for sure in SURE:
        rows.append(f"- of these {sure}: {counted[sure, True]} right, {counted[sure, False]} wrong")
    named = [(case["rank"], rank) for case, _, _, rank in failed if case["rank"] is not None]
    rows.append(
        f"- culprit named: {sum(a == b for a, b in named)} of {len(named)} in which the text holds it"
    )
    return "\n".join([*rows, "", *table(failed)])


def table(failed: list[tuple[dict[str, Any], str, str, int | None]]) -> list[str]:
    """An answer that is acceptable counts for the case's own label."""
    pairs = [(case["label"], case["label"] if is_right(case, said) else said) for case, said, _, _ in failed]
    rows = ["| cause | cases | precision | recall |", "|---|---|---|---|"]
    for label in sorted({name for pair in pairs for name in pair}):
        true, said = sum(a == label for a, _ in pairs), sum(b == label for _, b in pairs)
        both = sum(a == b == label for a, b in pairs)
        precision = f"{both / said:.2f}" if said else "–"
        rows.append(f"| {label} | {true} | {precision} | {f'{both / true:.2f}' if true else '–'} |")
    return rows


if __name__ == "__main__":
    for case, said, sure, _ in results(Path(os.environ["ALLRANKS_LOGS"]), "seen"):
        if not is_right(case, said):
            print(f"{case['id']} {case['source']} is {case.get('label')}, said {said} ({sure})")
