"""Results of stages: one JSON file a stage, replaced after each part, so that nothing measured is ever lost.

A stage tried on a CPU has another file (`NAME.cpu.json`): it can neither replace nor be taken for one of a GPU.
"""

from __future__ import annotations

import json
import shutil
import tarfile
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks import _page
from benchmarks._gpu.parts import MEASURED, ROOT, Machine

FOLDER = ROOT / "benchmarks" / "results" / "gpu"
RECORDED = "recorded"


def path_of(folder: Path, stage: str, device: str) -> Path:
    return folder / (f"{stage}.json" if device == "cuda" else f"{stage}.cpu.json")


def read(folder: Path, stage: str, device: str) -> dict[str, Any] | None:
    """What was measured before; None where nothing was, or the file says another device than its name."""
    try:
        found = json.loads(path_of(folder, stage, device).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    return found if found.get("device") == device and found.get("stage") == stage else None


def begun(stage: str, machine: Machine) -> dict[str, Any]:
    return {
        "stage": stage,
        "device": machine.device,
        "gpu": machine.gpu,
        "machine": _page.machine(),
        "command": f"make bench-gpu STAGE={stage}",
        "date": time.strftime("%Y-%m-%d"),
        "parts": {},
    }


def write(folder: Path, found: dict[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    path = path_of(folder, found["stage"], found["device"])
    draft = path.with_suffix(".new")
    draft.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    draft.rename(path)


def done(found: dict[str, Any] | None, part: str) -> bool:
    return bool(found) and (found or {})["parts"].get(part, {}).get("state") == MEASURED


def archive(folder: Path, target: Path) -> None:
    """All results as one file: a machine may give back few."""
    draft = target.with_name(target.name + ".new")
    with tarfile.open(draft, "w:gz") as file:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and path.suffix in (".json", ".yaml", ".md"):
                file.add(path, arcname=str(path.relative_to(folder)))
    draft.rename(target)


def take(source: Path, folder: Path = FOLDER, recorded: Path = ROOT / "tests" / "recorded") -> list[str]:
    """Results that were measured elsewhere, a folder or an archive of it, put into this tree: JSON of stages into
    `folder`, recordings into `recorded`. Of a try on a CPU only how its parts ended is kept. A file that says another
    stage or device than its name is refused. Returns what was taken."""
    with tempfile.TemporaryDirectory(prefix="gpu-take-") as scratch:
        if source.is_file():
            with tarfile.open(source, "r:gz") as file:
                file.extractall(scratch, filter="data")
            source = Path(scratch)
        taken = []
        folder.mkdir(parents=True, exist_ok=True)
        for path in sorted(source.glob("*.json")):
            found = json.loads(path.read_text(encoding="utf-8"))
            if path.name != path_of(folder, str(found.get("stage")), str(found.get("device"))).name:
                raise ValueError(f"{path.name} says stage {found.get('stage')} on {found.get('device')}")
            if found["device"] != "cuda":
                for part in found["parts"].values():
                    part.pop("data", None)
            write(folder, found)
            taken.append(path.name)
        for cluster in sorted((source / RECORDED).glob("*/")):
            shutil.copytree(cluster, recorded / cluster.name, dirs_exist_ok=True)
            taken.append(f"{RECORDED}/{cluster.name}")
    return taken
