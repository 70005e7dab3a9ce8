"""The report and the terminal: whatever a run folder holds, nothing of it is markup, a script or a control code."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

from allranks.core import event_from_json
from allranks.core.payloads import Refused
from allranks.output import report
from allranks.output.console import Out
from allranks.output.terminal import LiveView
from allranks.output.terminal_frame import frame
from tests.attacks.seeded import Damage, attacked
from tests.output import journals
from tests.output.test_report import Page

OWN = re.compile(r"\x1b\[[0-9;]*m")
"""The colours of our own output."""

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def tags(text: str) -> set[str]:
    """What can run or load something in a page: its scripts and frames, and the attributes that may."""
    found = set(re.findall(r"<(script|iframe|base|object|embed|link|form|img|meta)\b", text.lower()))
    return found | set(re.findall(r"<[^<>]*\s(on\w+)\s*=", text.lower()))


@attacked(quick=8, long=80)
def test_no_run_folder_brings_markup_into_the_report(tmp_path: Path, seed: int, rounds: int) -> None:
    damage = Damage(seed)
    run = journals.KINDS["killed"]()
    clean = tags(report.render(report.collect(str(run.write(tmp_path / "clean")))))
    for number in range(rounds):
        folder = run.write(tmp_path / str(number))
        files = sorted(path for path in folder.rglob("*") if path.suffix in (".json", ".jsonl"))
        for path in damage.random.sample(files, min(4, len(files))):
            lines = path.read_text().splitlines() if path.suffix == ".jsonl" else [path.read_text()]
            made = [
                json.dumps(damage.json(json.loads(line))) if damage.random.random() < 0.3 else line
                for line in lines
            ]
            path.write_text("\n".join(made) + "\n")
        text = report.render(report.collect(str(folder)))
        assert tags(text) <= clean, f"seed {seed}, round {number}"
        assert not CONTROL.search(Page(text).text), f"seed {seed}, round {number}"


@attacked(quick=4, long=60)
def test_no_event_brings_a_control_code_to_the_terminal(seed: int, rounds: int) -> None:
    damage = Damage(seed)
    events = [json.loads(json.dumps(e)) for e in journals.KINDS["killed"]().events]
    for number in range(rounds):
        file, live = io.StringIO(), LiveView(out=Out(file=io.StringIO(), width=80, live=True))
        with LiveView(out=Out(file=file, width=80)) as view:
            for event in events:
                hit = damage.random.random() < 0.3
                try:
                    made = event_from_json(damage.json(event) if hit else event)
                except Refused:
                    continue
                view.add(made)
                live.add(made)
        shown = OWN.sub("", file.getvalue()) + "\n".join(
            line.plain for line in frame(live.out, live.snapshot())
        )
        found = CONTROL.search(shown)
        assert found is None, (
            f"seed {seed}, round {number}: {shown[max(0, found.start() - 80) : found.end() + 20]!r}"
        )
