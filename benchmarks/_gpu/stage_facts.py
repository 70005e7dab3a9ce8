"""Every family of facts on real hardware, and a recording of the machine for the tests.

The recording lies in `recorded/<GPU>/` of the results, in the form of tests/recorded/, with what names the machine
replaced.
"""

from __future__ import annotations

import importlib.metadata
import json
import platform
import re
import sys
import time
from pathlib import Path
from typing import Any

from allranks.node import facts
from benchmarks._gpu.parts import ROOT, LeftOut, Machine, Part, missing, program, told
from benchmarks._gpu.redaction import scrubbed
from benchmarks._gpu.runs import product
from benchmarks._gpu.store import RECORDED

TITLE = "Facts of a machine with a GPU"
HOME = "/home/ubuntu"
SHARED = ("gpu-twice", "gpus-missing")
"""What is rightly said of two nodes that are one machine with one GPU, and meant where a stage makes them."""

TRIED = "tried"
"""Beside `recorded/`: what a machine without a GPU says is nobody's recording of one."""

CUDA = """
import json, torch
there = torch.cuda.is_available()
said = {"torch": torch.__version__, "cuda": torch.version.cuda, "devices": torch.cuda.device_count()}
if there:
    seen = torch.cuda.get_device_properties(0)
    said.update(name=seen.name, capability=list(torch.cuda.get_device_capability(0)),
                memory_bytes=seen.total_memory, processors=seen.multi_processor_count,
                nccl=".".join(map(str, torch.cuda.nccl.version())), cudnn=torch.backends.cudnn.version())
print("RESULT " + json.dumps(said))
"""


def machine_facts(machine: Machine) -> dict[str, Any]:
    """What the machine has: the first thing to know."""
    packages = {
        str(one.metadata["Name"]).lower(): str(one.version)
        for one in importlib.metadata.distributions()
        if one.metadata["Name"]
    }
    torch = told(program(["-c", CUDA]))
    return {
        "python": platform.python_version(),
        "torch": torch,
        "packages": dict(sorted(packages.items())),
        "met": None if machine.tiny else bool(torch["devices"]),
    }


def families(machine: Machine) -> dict[str, Any]:
    """Each family by itself: seconds, how many facts, what could not be read and why."""
    request = {
        "node": "localhost",
        "address": "127.0.0.1",
        "head": "localhost",
        "peers": {"localhost": "127.0.0.1"},
        "ports": [39500],
        "paths": [str(machine.out), "/dev/shm"],
        "python": sys.executable,
        "imports": ["torch"],
        "libraries": True,
        "code": {"script": str(ROOT / "examples" / "plain_deepspeed.py")},
    }
    found = facts.collect(request)
    seconds = found.values["collection"]["families"]
    rows = {
        name: {
            "seconds": seconds.get(name),
            "facts": sorted(found.values.get(name, {})),
            "unreadable": {key: why for key, why in found.unreadable.items() if key.split(".")[0] == name},
        }
        for name in facts.families()
    }
    whole = all(name not in found.unreadable for name in rows)
    seen = found.values.get("gpus", {}).get("list") or []
    return scrubbed(
        {"families": rows, "gpus": seen, "met": whole and (machine.tiny or len(seen) > 0)}, places()
    )


def recording(machine: Machine) -> dict[str, Any]:
    """The machine as `allranks check --save-facts` keeps it, ready for tests/recorded."""
    place = RECORDED if machine.gpu else TRIED
    name = slug(machine.gpu)
    folder = machine.out / place / name
    with product() as one:
        file = one.file("run.yaml", run_of(machine))
        code, _ = one.call("check", file, "--save-facts", one.folder / "facts")
        paths = {**places(), str(one.folder): f"{HOME}/run", str(one.home): f"{HOME}/.allranks"}
        saved = json.loads((one.folder / "facts" / "localhost.json").read_text())
        data = scrubbed(saved, paths)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "localhost.json").write_text(json.dumps(data, indent=1, sort_keys=True) + "\n")
        run = scrubbed({**run_of(machine), "environment": {"python": sys.executable}}, paths)
        (folder / "run.yaml").write_text(json.dumps(run, indent=1) + "\n")
        (folder / "RECORDED.md").write_text(about(machine, code))
        file = folder / "run.yaml"
        _, again = one.call("check", file, "--facts", folder)
    return {
        "folder": f"{place}/{name}",
        "check_code": code,
        "judged_again": [f["id"] for f in again["findings"] if f["verdict"] in ("block", "unknown")],
    }


def run_of(machine: Machine) -> dict[str, Any]:
    """The plainest run that this machine could start: a script of its own, one rank."""
    script = str(ROOT / "benchmarks" / "_fault_loop.py")
    return {
        "name": "one-gpu",
        "nodes": "localhost",
        "gpus": gpus_of(machine),
        "train": {"command": [script]},
        "deepspeed": "none",
    }


def gpus_of(machine: Machine) -> dict[str, Any]:
    """One a node; a CPU is asked for by name."""
    return {"count": 1, "model": model_of(machine.gpu) or "cpu"}


def model_of(gpu: str | None) -> str:
    return (gpu or "").removeprefix("NVIDIA ").strip()


def slug(gpu: str | None) -> str:
    return re.sub(r"[^a-z0-9]+", "-", (model_of(gpu) or "cpu").lower()).strip("-") + "-recorded"


def places() -> dict[str, str]:
    """Folders of this machine that say where somebody worked on it."""
    packages = [path for path in sys.path if path.endswith(("site-packages", "dist-packages"))]
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    found = dict.fromkeys(packages, f"/opt/env/lib/{version}/site-packages")
    found |= {str(ROOT): f"{HOME}/allranks", str(Path.home()): HOME, sys.prefix: "/opt/env"}
    return {old: new for old, new in found.items() if old not in ("/", "")}


def about(machine: Machine, code: int) -> str:
    return (
        f"# Recorded on {'one ' + machine.gpu if machine.gpu else 'a machine without a GPU'}\n\n"
        f"By `make bench-gpu STAGE=facts` on {time.strftime('%Y-%m-%d')}: what `allranks check --save-facts` wrote "
        f"(exit code {code}), with serial numbers, UUIDs, host and user names, addresses and folders replaced "
        "(benchmarks/_gpu/redaction.py). All else is as the machine said it.\n"
    )


def needs_rich(measure: Any) -> Any:
    """The command line needs its own packages, which a bare machine may lack."""

    def looked(machine: Machine) -> dict[str, Any]:
        lacking = missing(("yaml", "rich", "packaging", "argcomplete", "asyncssh"))
        if lacking:
            raise LeftOut(f"allranks' own packages are not installed: {', '.join(lacking)}")
        return measure(machine)

    return looked


PARTS = (
    Part("machine", machine_facts, 120.0, ("torch",)),
    Part("families", families, 120.0),
    Part("recording", needs_rich(recording), 180.0),
)


def table(parts: dict[str, dict[str, Any]]) -> str:
    lines = []
    if "machine" in parts:
        one = parts["machine"]["torch"]
        lines += [
            f"{one.get('name')}, {one.get('memory_bytes', 0) / 2**30:.1f} GiB by torch {one['torch']}, CUDA "
            f"{one['cuda']}, NCCL {one.get('nccl')}, {one.get('processors')} multiprocessors.",
            "",
        ]
    if "families" in parts:
        lines += ["| family | seconds | facts | not readable |", "|---|---|---|---|"]
        for name, row in parts["families"]["families"].items():
            gaps = "; ".join(f"{key}: {why}" for key, why in row["unreadable"].items()).replace("|", "/")
            lines.append(f"| {name} | {row['seconds']} | {len(row['facts'])} | {gaps} |")
    if "recording" in parts:
        lines += ["", f"The recording: `tests/{parts['recording']['folder']}`."]
    return "\n".join(lines)
