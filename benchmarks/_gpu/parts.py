"""Parts of a stage: each runs in a process of its own, with a time limit, and its outcome is saved at once.

A stage is a module of this folder named `stage_*` with `TITLE`, `PARTS` and `table(parts) -> str` (Markdown). A part
is a function that takes a `Machine` and returns what it measured as a JSON object; the key `met` in it says whether
the part's aim was met (None: it has none). It raises `LeftOut` where it cannot look.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import json
import os
import pkgutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
ORDER = ("facts", "checks", "gemm", "memory", "nccl", "watch", "heartbeats", "demo", "save")
"""By what is learnt a minute: what is short and tells what the machine is comes first."""

MEASURED, LEFT_OUT, FAILED, TIMED_OUT, NOT_STARTED = (
    "measured",
    "left out",
    "failed",
    "timed out",
    "not started",
)
TAIL = 3000
END_SECONDS = 10.0
KILLED_SECONDS = 30.0


class LeftOut(Exception):
    """This part cannot look: a package is missing, or the machine refuses. Never the same as passed."""


@dataclass(frozen=True)
class Machine:
    """Where a part runs. On `cpu` every size is tiny: it proves that the code runs, and measures no GPU."""

    device: str
    gpu: str | None
    out: Path

    @property
    def tiny(self) -> bool:
        return self.device == "cpu"


@dataclass(frozen=True)
class Part:
    """`seconds` is the limit on a GPU; `needs` are packages without which it cannot look."""

    name: str
    measure: Callable[[Machine], dict[str, Any]]
    seconds: float
    needs: tuple[str, ...] = ()


def stage(name: str) -> Any:
    """The module of a stage. If a package of a third party is missing there, a stage whose only part is left out: the
    others go on."""
    try:
        return importlib.import_module(f"benchmarks._gpu.stage_{name}")
    except ModuleNotFoundError as error:
        package = str(error.name).partition(".")[0]
        if package in ("benchmarks", "allranks", "tests"):
            raise
        part = Part("import", lambda machine: {}, 10.0, (package,))
        return SimpleNamespace(TITLE=f"{name}, without {package}", PARTS=(part,), table=lambda parts: "")


def stages() -> list[str]:
    found = {
        m.name.removeprefix("stage_")
        for m in pkgutil.iter_modules([str(Path(__file__).parent)])
        if m.name.startswith("stage_")
    }
    return sorted(found, key=ORDER.index)


def missing(names: tuple[str, ...]) -> list[str]:
    return [name for name in names if importlib.util.find_spec(name) is None]


def looked(part: Part, machine: Machine) -> dict[str, Any]:
    """A part's outcome, in this process: `state`, `why`, `met`, `data`."""
    lacking = missing(part.needs)
    if lacking:
        return {
            "state": LEFT_OUT,
            "why": f"not installed: {', '.join(lacking)}",
            "lacks": lacking,
            "met": None,
        }
    try:
        data = part.measure(machine)
    except LeftOut as reason:
        return {"state": LEFT_OUT, "why": str(reason), "met": None}
    except Exception as error:  # the other parts go on
        return {"state": FAILED, "why": f"{type(error).__name__}: {error}"[-TAIL:], "met": None}
    return {"state": MEASURED, "why": "", "met": data.pop("met", None), "data": data}


def apart(stage_name: str, part: Part, machine: Machine) -> dict[str, Any]:
    """The same in a process of its own, ended at the limit with all that it started in its session."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="gpu-part-") as folder:
        answer, log = Path(folder) / "answer.json", Path(folder) / "log"
        words = [sys.executable, "-m", "benchmarks", "gpu", stage_name, "--child", part.name, str(answer)]
        words += ["--device", machine.device, "--gpu-name", machine.gpu or "", "--out", str(machine.out)]
        with log.open("wb") as file:
            child = subprocess.Popen(
                words, cwd=ROOT, env=environment(), stdout=file, stderr=file, start_new_session=True
            )
            code = waited(child, part.seconds)
        said = log.read_text(errors="replace")[-TAIL:]
        if code is None:
            outcome = {"state": TIMED_OUT, "why": f"not over after {part.seconds:g} s", "met": None}
        elif answer.exists():
            outcome = json.loads(answer.read_text())
        else:
            outcome = {"state": FAILED, "why": f"it ended with code {code}", "met": None}
        if outcome["state"] in (FAILED, TIMED_OUT):
            outcome["log"] = said
    return {**outcome, "seconds": round(time.monotonic() - began, 1), "limit": part.seconds}


def waited(child: subprocess.Popen[bytes], seconds: float) -> int | None:
    """Its exit code; None where it was ended at the limit. It is not reaped before its group is gone, so the group's
    number is still its own."""
    try:
        return child.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        return None
    finally:
        if child.poll() is None:
            child.send_signal(signal.SIGTERM)  # it ends what it began: a run has supervisors of its own
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(timeout=END_SECONDS)
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
            with contextlib.suppress(subprocess.TimeoutExpired):  # a driver that hangs lets go of nobody
                child.wait(timeout=KILLED_SECONDS)


def environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """What a part and the programs it starts get: this tree first, nothing from the network."""
    paths = [str(ROOT / "src"), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(dict.fromkeys(p for p in paths if p)),
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]),
        "HF_HUB_OFFLINE": "1",
        "TOKENIZERS_PARALLELISM": "false",
        **(more or {}),
    }


def as_child(stage_name: str, part_name: str, answer: Path, machine: Machine) -> int:
    """The other side of `apart`."""
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    part = next(part for part in stage(stage_name).PARTS if part.name == part_name)
    outcome = looked(part, machine)
    draft = answer.with_suffix(".new")
    draft.write_text(json.dumps(outcome, default=str))
    draft.rename(answer)
    return 0


def program(words: list[str], env: Mapping[str, str] | None = None, seconds: float = 300.0) -> str:
    """The output of a program that a part needs. Raises RuntimeError with the end of what it said."""
    done = subprocess.run(
        [sys.executable, *words],
        cwd=ROOT,
        env=environment(env),
        capture_output=True,
        text=True,
        timeout=seconds,
    )
    if done.returncode:
        raise RuntimeError(f"code {done.returncode}: {(done.stdout + done.stderr)[-TAIL:]}")
    return done.stdout


def told(output: str, mark: str = "RESULT ") -> Any:
    """The JSON of the line that begins with the mark."""
    line = next((row for row in output.splitlines() if row.startswith(mark)), None)
    if line is None:
        raise RuntimeError(f"no line begins with {mark!r}: {output[-TAIL:]}")
    return json.loads(line.removeprefix(mark))


def one_rank(port: int, rank: int = 0, world: int = 1) -> dict[str, str]:
    """What torchrun would set for a rank of this machine."""
    return {
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": str(world),
        "LOCAL_WORLD_SIZE": str(world),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "GLOO_SOCKET_IFNAME": "lo",
    }
