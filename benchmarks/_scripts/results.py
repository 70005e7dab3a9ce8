"""What the trials came to: kept as lines of JSON, judged, and written as the section's table."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks._scripts.corpus import Script

RESULTS = Path(
    os.environ.get("RESULTS", str(Path(__file__).resolve().parents[1] / "results" / "scripts.jsonl"))
)
Trials = dict[tuple[str, str], dict[str, Any]]


def keep(outcome: Mapping[str, Any]) -> None:
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    with RESULTS.open("a") as file:
        file.write(json.dumps(outcome) + "\n")


def trials() -> Trials:
    """The last outcome of each script and kind."""
    if not RESULTS.exists():
        return {}
    made = [json.loads(line) for line in RESULTS.read_text().splitlines() if line.startswith("{")]
    return {(one["script"], one["kind"]): one for one in made}


def named(one: Mapping[str, Any] | None) -> bool | None:
    """Whether the verdict of a planted fault has its rank and its cause; None without a trial."""
    if one is None:
        return None
    if one["kind"] == "kill":
        return one.get("rank") == 2 and one.get("cause") == "rank-sigkilled"
    return one.get("rank") == 1 and "planted in rank 1" in one.get("evidence", "")


def healthy(one: Mapping[str, Any] | None) -> bool | None:
    """Whether the unchanged script succeeded, with a step seen, and its saves if it made any."""
    return None if one is None else bool(one["ok"])


def page(scripts: Sequence[Script], missing: Mapping[str, str]) -> str:
    found = trials()
    tried = [script for script in scripts if (script.name, "hand") in found]
    able = [script for script in tried if found[script.name, "hand"]["ok"]]
    run = [script for script in able if (script.name, "run") in found]
    through = [s for s in run if healthy(found.get((s.name, "run")))]
    counts = {}
    for kind in ("raise", "kill"):
        made = [named(found.get((s.name, kind))) for s in able]
        counts[kind] = f"**{sum(one is True for one in made)}** of {sum(one is not None for one in made)}"
    stepped = [s for s in through if found[s.name, "run"].get("step") is not None]
    losses = [s for s in through if found[s.name, "run"].get("loss")]
    savers = [s for s in through if found[s.name, "hand"]["files"]]
    seen = [s for s in savers if found[s.name, "run"].get("saves")]
    text = [
        f"{len(scripts)} scripts of {len({s.framework for s in scripts})} frameworks are listed, {len(tried)} were"
        f" tried, {len(able)} of them run by hand with three torchruns here. **{len(through)}** of the {len(run)}"
        f" that were also run under allranks succeed there, unmodified; steps are seen in {len(stepped)}, a loss in"
        f" {len(losses)}, and the saves in {len(seen)} of the {len(savers)} that make any. An exception in rank 1 is"
        f" named with rank and cause in"
        f" {counts['raise']}, a SIGKILL of rank 2 in {counts['kill']}.",
        "",
        "| script | framework | by hand | allranks | steps, by the optimizer's own count | loss | saves | exception"
        " | SIGKILL |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for script in tried:
        text.append(row(script, found))
    rest = [
        s.name + (f" ({missing[s.name]})" if s.name in missing else "") for s in scripts if s not in tried
    ]
    if rest:
        text += ["", "Listed and not tried: " + ", ".join(rest) + "."]
    return "\n".join(text)


def row(script: Script, found: Trials) -> str:
    hand, run = found[script.name, "hand"], found.get((script.name, "run"))
    where = script.repository.removeprefix("package:")
    name = f"{where} {'/'.join(Path(script.path).parts[-2:])}"
    if not hand["ok"]:
        return f"| {name} | {script.framework} | no: {plain(hand.get('log', ''))} | – | – | – | – | – | – |"
    cells = [name, script.framework, f"{hand['seconds']:.0f} s"]
    if run is None:
        return "| " + " | ".join([*cells, *["–"] * 6]) + " |"
    cells.append(f"{run['seconds']:.0f} s" if run["ok"] else f"**{run.get('state') or 'not started'}**")
    counted = max(hand["stepped"], default=0)
    cells.append(f"{'none' if run.get('step') is None else run['step']}, {counted}")
    cells.append("yes" if run.get("loss") else "no")
    cells.append(saves(hand, run))
    cells += [fault(found.get((script.name, kind))) for kind in ("raise", "kill")]
    return "| " + " | ".join(cells) + " |"


def saves(hand: Mapping[str, Any], run: Mapping[str, Any]) -> str:
    if not hand["files"] and not run.get("saves"):
        return "makes none"
    return str(run["saves"]) if run.get("saves") else "**not seen**"


def fault(one: Mapping[str, Any] | None) -> str:
    good = named(one)
    if one is None:
        return "–"
    if good:
        return "named"
    return f"**{one.get('cause') or one.get('state') or 'not started'}**, rank {one.get('rank')}"


def plain(text: str) -> str:
    return " ".join(text.replace("|", " ").split())[:90]
