"""Faults on three nodes of the rig over SSH: who is named, how soon, what is left; plain torchrun beside it.

    python -m benchmarks faults                      all of them: some hours, and it needs root
    FAULTS=sigkill,sigstop PHASES=steady SEEDS=1 python -m benchmarks faults

`noticed` is the first warning, or the first word of the death, after the fault; `named` the first finding or
diagnosis with the right node (and rank, where it is a rank's fault). Of torchrun it is the first of its programs
that ends or prints an error, and the rank in its own "root cause". All nodes share this machine's clock.
Checkpoints kept are not judged here: tests/runs and tests/checkpoints do.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "rig"))
from benchmarks._faults import FAULTS, NODE, OOM_GROUP, SMALL_DISK, STALL, Fault
from rig import STATE, Rig, address, only_one

TITLE = "Faults on three nodes over SSH, against plain torchrun"
LOOP = Path(__file__).parent / "_fault_loop.py"
ON_REQUEST = True
CUT_SECONDS = 180.0
START_SECONDS = 120.0


@dataclass
class Outcome:
    """Times are seconds after the fault; None where it did not come within the limit."""

    fault: str
    phase: str
    noticed: float | None = None
    named: float | None = None
    said: str = ""
    right_place: bool = False
    right_cause: bool = False
    left: int | None = None
    trouble: str = ""


# ---- one trial ----


@contextlib.contextmanager
def rig_with(fault: Fault) -> Iterator[Rig]:
    with Rig(3, shared=[sys.prefix, str(SHARED)]) as rig:
        for command in fault.before:
            rig.run(NODE, ["sh", "-c", command])
        if "SAVE_TO" in fault.env:
            make = f"truncate -s 64M /run/d && mkfs.ext4 -q /run/d && mkdir -p {SMALL_DISK}"
            rig.run(1, ["sh", "-c", f"{make} && mount /run/d {SMALL_DISK}"])
        try:
            yield rig
        finally:
            if "SAVE_TO" in fault.env:  # a frozen file system would keep the namespace's end waiting
                rig.run(1, ["fsfreeze", "-u", SMALL_DISK], check=False)
    with contextlib.suppress(OSError):
        Path(OOM_GROUP).rmdir()


SHARED = Path(tempfile.gettempdir()) / "allranks-faults"


def arguments(name: str, phase: str, rank: int, seed: int) -> list[str]:
    return ["--fault", name, "--phase", phase, "--rank", str(rank), "--step", str(25 + 10 * seed)]


def ours(name: str, phase: str, seed: int, per_node: int = 1) -> Outcome:
    fault, outcome = FAULTS[name], Outcome(name, phase)
    folder = fresh()
    rank = (NODE - 1) * per_node + seed % per_node
    with rig_with(fault) as rig:
        call = caller(rig, folder)
        data = {
            "name": "fault",
            "nodes": "node[1-3]",
            "gpus": per_node,
            "environment": {"python": sys.executable},
            "env": {"FAULT_DIR": str(folder), **fault.env},
            "train": {"command": [str(LOOP), *arguments(name, phase, rank, seed)]},
        }
        (folder / "run.yaml").write_text(json.dumps(data))
        run: dict[str, Any] = {}
        controller = subprocess.Popen(
            call("run", folder / "run.yaml", "--json"), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        try:
            if not wait_for(folder / "reached", controller):
                outcome.trouble = f"did not come to the fault: {tail_of(controller)}"
                return outcome
            run = status(call)
            began = inject(fault, rig, {**run, "controller": controller}, folder)
            follow(call, rig, run, fault, outcome, began, rank)
        finally:
            with contextlib.suppress(subprocess.SubprocessError):
                words = call("stop", run["id"], "-y") if run else ["true"]
                subprocess.run(words, capture_output=True, timeout=90, check=False)
            controller.kill()
            controller.wait()
        outcome.left = None if fault.goes_on else left(rig, run["id"], but=NODE if name == "power-off" else 0)
    return outcome


def follow(
    call: Callable[..., list[str]],
    rig: Rig,
    run: dict[str, Any],
    fault: Fault,
    outcome: Outcome,
    began: float,
    rank: int,
) -> None:
    """Reads the keeper's journal until the right place is named, or for the limit and a while."""
    deadline = time.time() + (30.0 if fault.goes_on else CUT_SECONDS)
    while time.time() < deadline:
        found = [e for e in journal(rig, run) if e["at"] >= began - 0.2]
        judge(fault, found, outcome, began, rank)
        if any(e["kind"] == "state" and e["data"].get("state") in ("failed", "stopped") for e in found):
            return
        if outcome.right_cause and fault.causes == STALL:
            return
        time.sleep(0.5)


def judge(fault: Fault, events: list[dict[str, Any]], outcome: Outcome, began: float, rank: int) -> None:
    for event in events:
        data, after = event["data"], round(event["at"] - began, 1)
        alarm = event["kind"] == "finding" and data.get("verdict") in ("warn", "block")
        dead = event["kind"] in ("rank-gone", "exception", "lost", "torchrun-ended")
        if (alarm or dead) and outcome.noticed is None:
            outcome.noticed = after
        if not alarm and event["kind"] != "diagnosis":
            continue
        where, cause = data.get("where") or {}, data.get("id") or data.get("cause")
        place = where.get("node") == f"node{NODE}" and (not fault.rank or where.get("rank") == rank)
        outcome.said = (
            f"{cause} {where.get('node') or ''} {'' if where.get('rank') is None else where['rank']}".strip()
        )
        if place and outcome.named is None:
            outcome.named = after
        outcome.right_place = outcome.right_place or place
        outcome.right_cause = outcome.right_cause or (place and cause in fault.causes)


def plain(name: str, phase: str, seed: int, per_node: int = 1) -> Outcome:
    """The same script under three torchruns, started in each node by hand."""
    fault, outcome = FAULTS[name], Outcome(name, phase)
    folder = fresh()
    rank = (NODE - 1) * per_node + seed % per_node
    with rig_with(fault) as rig, contextlib.ExitStack() as stack:
        logs = [stack.enter_context(open(folder / f"torchrun-{n}.log", "wb")) for n in (1, 2, 3)]
        env = {"FAULT_DIR": str(folder), "GLOO_SOCKET_IFNAME": "eth0", "OMP_NUM_THREADS": "1", **fault.env}
        started = []
        for number, log in zip((1, 2, 3), logs, strict=True):
            words = [
                sys.executable,
                "-m",
                "torch.distributed.run",
                "--nnodes=3",
                f"--nproc-per-node={per_node}",
            ]
            words += [
                f"--node-rank={number - 1}",
                f"--master-addr={address(1)}",
                "--master-port=29500",
                str(LOOP),
            ]
            command = [
                "env",
                *(f"{k}={v}" for k, v in env.items()),
                *words,
                *arguments(name, phase, rank, seed),
            ]
            started.append(subprocess.Popen(rig.inside(number, command), stdout=log, stderr=log))
        try:
            if not wait_for(folder / "reached", started[0]):
                outcome.trouble = "did not come to the fault"
                return outcome
            began = inject(fault, rig, {}, folder)
            while time.time() < began + CUT_SECONDS and outcome.noticed is None:
                gone = [
                    p
                    for n, p in enumerate(started, 1)
                    if p.poll() is not None and n != NODE * (name == "power-off")
                ]
                said = any(b"Error" in (folder / f"torchrun-{n}.log").read_bytes() for n in (1, 2, 3))
                outcome.noticed = round(time.time() - began, 1) if gone or said else None
                time.sleep(0.2)
            time.sleep(5.0 if outcome.noticed is not None else 0.0)
            blamed = blamed_by(folder)
            outcome.said = ", ".join(f"node{n}: rank {r}" for n, r in sorted(blamed.items())) or "nobody"
            outcome.right_place = bool(blamed) and set(blamed.values()) == {rank}
        finally:
            rig.down()
            for process in started:
                process.wait(30)
    return outcome


def blamed_by(folder: Path) -> dict[int, int]:
    """The rank in each node's "Root Cause (first observed failure)"."""
    found = {}
    for number in (1, 2, 3):
        text = (folder / f"torchrun-{number}.log").read_text(errors="replace")
        match = re.search(r"Root Cause.*?rank\s*:\s*(\d+)", text, re.DOTALL)
        if match:
            found[number] = int(match.group(1))
    return found


# ---- tools ----


def fresh() -> Path:
    SHARED.mkdir(mode=0o700, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix="trial-", dir=SHARED))


def inject(fault: Fault, rig: Rig, run: dict[str, Any], folder: Path) -> float:
    """The moment of the fault."""
    if fault.inject is None:
        at = folder / "at"
        return float(at.read_text()) if at.exists() else float((folder / "reached").read_text())
    fault.inject(rig, run)
    return time.time()


def wait_for(path: Path, process: subprocess.Popen, seconds: float = START_SECONDS) -> bool:
    deadline = time.time() + seconds
    while not path.exists():
        if time.time() > deadline or process.poll() is not None:
            return False
        time.sleep(0.05)
    return True


def caller(rig: Rig, folder: Path) -> Callable[..., list[str]]:
    ssh = folder / ".ssh"
    ssh.mkdir(mode=0o700)
    shutil.copy(STATE / "ssh_config", ssh / "config")
    shutil.copy(STATE / "known_hosts", ssh / "known_hosts")
    env = ["env", f"HOME={folder}", f"ALLRANKS_HOME={folder / 'allranks'}"]
    return lambda *words: rig.from_ctl([*env, sys.executable, "-m", "allranks.cli", *map(str, words)])


def status(call: Callable[..., list[str]]) -> dict[str, Any]:
    done = subprocess.run(call("ps", "--json"), capture_output=True, text=True, timeout=60, check=True)
    return json.loads(done.stdout)["runs"][0]


def journal(rig: Rig, run: dict[str, Any]) -> list[dict[str, Any]]:
    text = rig.run(1, ["cat", f"{run['directory']}/keeper/journal.jsonl"]).stdout.decode("utf-8", "replace")
    return [json.loads(line) for line in text.splitlines() if line.endswith("}")]


def left(rig: Rig, run_id: str, but: int) -> int:
    """Live processes that carry the run's id, on the nodes that are there."""
    look = f"grep -lzs '^ALLRANKS_RUN_ID={run_id}$' /proc/[0-9]*/environ | wc -l"
    return sum(int(rig.run(n, ["sh", "-c", look]).stdout) for n in (1, 2, 3) if n != but)


def tail_of(process: subprocess.Popen) -> str:
    process.kill()
    return (process.communicate()[1] or b"").decode("utf-8", "replace")[-300:]


# ---- the table ----


def chosen(variable: str, known: list[str]) -> list[str]:
    asked = os.environ.get(variable)
    return [name for name in asked.split(",") if name in known] if asked else known


def measure() -> str:
    rows, outcomes = [], []
    with only_one(), contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, SHARED, ignore_errors=True)
        for name in chosen("FAULTS", list(FAULTS)):
            fault = FAULTS[name]
            for phase in chosen("PHASES", list(fault.phases)):
                if phase not in fault.phases:
                    continue
                for seed in range(int(os.environ.get("SEEDS", "3" if fault.core else "1"))):
                    mine = ours(name, phase, seed)
                    theirs = plain(name, phase, seed) if fault.plain and seed == 0 else None
                    outcomes.append(mine)
                    rows.append(row(fault, mine, theirs))
    head = "| fault | phase | noticed, s | named, s | said | place | cause | left | torchrun notices, s | names |"
    return "\n".join([head, "|---|---|---|---|---|---|---|---|---|---|", *rows, "", summary(outcomes)])


def row(fault: Fault, mine: Outcome, theirs: Outcome | None) -> str:
    cells = [
        mine.fault,
        mine.phase,
        shown(mine.noticed),
        shown(mine.named),
        mine.trouble or mine.said or "nothing",
    ]
    if fault.goes_on:
        cells += ["undisturbed" if mine.noticed is None else "DISTURBED", "", ""]
    else:
        cells += [
            "right" if mine.right_place else "WRONG",
            "right" if mine.right_cause else "WRONG",
            str(mine.left),
        ]
    cells += (
        ["", ""] if theirs is None else [shown(theirs.noticed, CUT_SECONDS), theirs.trouble or theirs.said]
    )
    return "| " + " | ".join(cells) + " |"


def shown(seconds: float | None, cut: float | None = None) -> str:
    return f"{seconds:.1f}" if seconds is not None else f"> {cut:.0f}" if cut else ""


def summary(outcomes: list[Outcome]) -> str:
    judged = [o for o in outcomes if not FAULTS[o.fault].goes_on and not o.trouble]
    if not judged:
        return ""
    late = [o for o in judged if o.noticed is None or o.noticed > FAULTS[o.fault].limit]
    waits = [o.noticed for o in judged if o.noticed is not None]
    return (
        f"Of {len(judged)} faults: right place **{share(o.right_place for o in judged)}** (aim ≥ 95 %), right cause"
        f" **{share(o.right_cause for o in judged)}** (aim ≥ 90 %), {len(late)} noticed later than promised, median"
        f" {statistics.median(waits) if waits else 0.0:.1f} s; processes left after the end:"
        f" {sum(o.left or 0 for o in judged)}. {sum(bool(o.trouble) for o in outcomes)} could not be made here."
    )


def share(values: Any) -> str:
    known = list(values)
    return f"{sum(known) / len(known):.0%}"
