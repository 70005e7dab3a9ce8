"""The sections of docs/benchmarks.md that the pack writes, made from its JSON.

A stage's own section is written from what a GPU said, and from nothing else. The section of the whole pack names
what is open, and what ran on a CPU only.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks import _page
from benchmarks._gpu import store
from benchmarks._gpu.parts import MEASURED, stage, stages

TITLE = "The GPU pack: what is measured and what is open"


def write(folder: Path, page: Path | None = None) -> int:
    made = {"gpu": overview(folder)}
    for name in stages():
        found = store.read(folder, name, "cuda")
        if found is not None:
            made[f"gpu_{name}"] = section(found)
    _page.put(made, page)
    return 0


def section(found: dict[str, Any]) -> str:
    """Of a stage that ran on a GPU. Raises ValueError for any other."""
    if found["device"] != "cuda" or not found.get("gpu"):
        raise ValueError(f"{found['stage']} ran on {found['device']}, not on a GPU")
    name, parts = found["stage"], found["parts"]
    good = {part: one["data"] for part, one in parts.items() if one["state"] == MEASURED}
    body = [stage(name).table(good)] if good else []
    gaps = [
        f"- {part}: {one['state']}. {' '.join(str(one.get('why') or '').split())[:300]}".rstrip()
        for part, one in parts.items()
        if one["state"] != MEASURED
    ]
    if gaps:
        body.append("Not measured:\n\n" + "\n".join(gaps))
    missed = [part for part, one in parts.items() if one.get("met") is False]
    if missed:
        body.append(f"**Aim missed: {', '.join(missed)}.**")
    stamp = f"`{found['command']}`, {found['date']}, one {found['gpu']}, {found['machine']}."
    return _page.section(f"gpu_{name}", stage(name).TITLE, stamp, "\n\n".join(body))


def overview(folder: Path) -> str:
    rows = ["| stage | what | on a GPU | on a CPU, tiny |", "|---|---|---|---|"]
    open_stages = []
    for name in stages():
        on_gpu, on_cpu = (store.read(folder, name, device) for device in ("cuda", "cpu"))
        if on_gpu is None:
            open_stages.append(name)
        rows.append(f"| {name} | {stage(name).TITLE} | {state(on_gpu, name)} | {state(on_cpu, name)} |")
    said = (
        f"No GPU has measured {', '.join(open_stages)} yet. A try on a CPU proves that the code runs; "
        "its figures are not those of a GPU and are not published."
        if open_stages
        else "Every stage has run on a GPU."
    )
    alone = (
        "These figures rest on arithmetic alone until then: [the GPU pack](gpu.md#what-no-gpu-has-measured)."
    )
    body = "\n".join([said, alone, "", *rows])
    return _page.section("gpu", TITLE, "`make bench-gpu`; how it is used: [the GPU pack](gpu.md).", body)


def state(found: dict[str, Any] | None, name: str) -> str:
    if found is None:
        return "open"
    parts = {part.name: found["parts"].get(part.name, {}) for part in stage(name).PARTS}
    good = sum(one.get("state") == MEASURED for one in parts.values())
    missed = [part for part, one in parts.items() if one.get("met") is False]
    text = f"{good} of {len(parts)} parts, {found['date']}"
    return text + (f", aim missed: {', '.join(missed)}" if missed and found["device"] == "cuda" else "")
