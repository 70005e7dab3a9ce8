"""What odd but healthy runs came to: kept as lines of JSON, and written as the section's tables."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

RESULTS = Path(
    os.environ.get("RESULTS", str(Path(__file__).resolve().parents[1] / "results" / "healthy.jsonl"))
)


def keep(outcome: Mapping[str, Any]) -> None:
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    with RESULTS.open("a") as file:
        file.write(json.dumps(outcome) + "\n")


def lines() -> list[dict[str, Any]]:
    if not RESULTS.exists():
        return []
    return [json.loads(line) for line in RESULTS.read_text().splitlines() if line.startswith("{")]


def trials() -> dict[tuple[str, int], dict[str, Any]]:
    """The last outcome of each kind and seed."""
    return {(one["kind"], one["seed"]): one for one in lines() if "kind" in one}


def firsts() -> dict[tuple[str, int], dict[str, Any]]:
    """The first one that was a trial at all."""
    found: dict[tuple[str, int], dict[str, Any]] = {}
    for one in lines():
        if "kind" in one and not one.get("trouble"):
            found.setdefault((one["kind"], one["seed"]), one)
    return found


def shorts() -> list[dict[str, Any]]:
    return [one for one in lines() if "short" in one]


def is_good(one: Mapping[str, Any]) -> bool:
    return not any(one.get(name) for name in ("trouble", "errors", "alarms", "left"))


def cell(one: Mapping[str, Any] | None) -> str:
    """One trial: `ok`, with the warnings that say something true of it, or what went wrong."""
    if one is None:
        return "–"
    if one.get("trouble"):
        return "not made"
    bad = [
        f"**{name}** {first_word(text)}" for name in ("errors", "alarms", "left") for text in one[name][:2]
    ]
    said = sorted({text.split()[0] for text in one["said"]})
    return "; ".join(bad) if bad else "ok" + (f" ({', '.join(said)})" if said else "")


def first_word(text: str) -> str:
    return " ".join(text.replace("|", " ").split())[:60]


def page(kinds: Mapping[str, Any]) -> str:
    found = trials()
    seeds = sorted({seed for _, seed in found})
    made = [one for (kind, _), one in found.items() if kind in kinds and not one.get("trouble")]
    known = [kind for kind in kinds if any((kind, seed) in found for seed in seeds)]
    bad = {name: sum(bool(one[name]) for one in made) for name in ("errors", "alarms", "left")}
    troubled = len([one for (kind, _), one in found.items() if kind in kinds and one.get("trouble")])
    text = [
        f"{len(known)} kinds, {len(made)} trials: **{sum(not one['trained'] for one in made)}** runs ended before their"
        f" time, **{bad['errors']}** with an error shown, **{bad['alarms']}** with a false warning, {bad['left']} left"
        f" a process or a file. {troubled} could not be made."
    ]
    first = {key: one for key, one in firsts().items() if key[0] in kinds}
    for apart in (True, False):
        mine = [one for one in first.values() if bool(one.get("apart")) is apart]
        good = sum(is_good(one) for one in mine)
        whose = "kinds that were kept apart" if apart else "other kinds"
        text.append(f"At first try, of the {whose}: {good} of {len(mine)} trials.")
    text += ["", "| kind | " + " | ".join(f"seed {seed}" for seed in seeds) + " |"]
    text += ["|---|" + "---|" * len(seeds)]
    for kind in known:
        name = f"{kinds[kind].__doc__}" + (" *" if kinds[kind].apart else "")
        text.append(f"| {name} | " + " | ".join(cell(found.get((kind, seed))) for seed in seeds) + " |")
    text += [
        "",
        "\\* kept apart: listed before any kind had been run. Their results were seen together with the others, and "
        "fixed after that.",
    ]
    return "\n".join([*text, *short_page()])


def short_page() -> list[str]:
    """The short runs: what was shown, and what all of them left."""
    made = [one for one in {one["short"]: one for one in shorts()}.values() if not one.get("trouble")]
    if not made:
        return []
    count = {name: sum(len(one[name]) for one in made) for name in ("bad", "alarms", "left")}
    runs, steps = sum(one["runs"] for one in made), sum(one["steps"] for one in made)
    # After its first run a home has the unpacked bundle; each further one adds its line of the index.
    more = {
        one["held"][-1][n] - one["held"][1][n] - (len(one["held"]) - 2) * (n == 0)
        for one in made
        if one.get("held")
        for n in range(4)
    }
    grown = "nothing grew" if more == {0} else f"it grew by {sorted(more)}"
    text = (
        f"{runs} short runs of 1 to 3 nodes, {steps:,} steps, one after another in {len(made)} homes:"
        f" **{count['alarms']}** alarms, **{count['bad']}** that did not end well; {count['left']} processes, files and"
        " folders left after `clean`. While they ran, in a home outside of the runs' folders (except for the index, one"
        f" file per run), in /tmp, in /dev/shm and in the kernel's list of sockets {grown}."
    )
    bad = [f"- {text}" for one in made for text in [*one["bad"], *one["alarms"], *one["left"]]]
    return ["", text, *bad[:20], *memory_page()]


def memory_page() -> list[str]:
    found = [one for one in lines() if "keeper" in one]
    if not found:
        return []
    one = found[-1]
    early, late = (f"{value / 2**20:.1f} MiB" for value in one["keeper"])
    return [
        "",
        f"A keeper that hears {one['beats']:,} heartbeats of {one['ranks']} ranks: its memory is {early} after a tenth"
        f" of them and {late} at the end, its descriptors {one['open'][0]} and {one['open'][1]}.",
    ]
