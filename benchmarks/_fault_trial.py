"""One trial of `benchmarks/faults.py`: a fault under allranks, and the same under three torchruns started by hand."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "rig"))
from allranks.checkpoints.find import newest_verified
from benchmarks._fault_results import CUT_SECONDS, Outcome
from benchmarks._faults import FAULTS, NODE, OOM_GROUP, SMALL_DISK, Fault
from rig import STATE, Rig, address

LOOP = Path(__file__).parent / "_fault_loop.py"
SHARED = Path(tempfile.gettempdir()) / f"allranks-faults{STATE.name.rpartition('rig')[2]}"
START_SECONDS = 300.0
STAY_SECONDS = 30.0
END_SECONDS = 60.0
"""A node that hears nothing stops its ranks after the lease (30 s) and the grace time (10 s)."""


@contextlib.contextmanager
def rig_with(fault: Fault) -> Iterator[Rig]:
    with Rig(3, shared=[sys.prefix, str(SHARED)]) as rig:
        for command in fault.before:
            rig.run(NODE, ["sh", "-c", command])
        if "SAVE_TO" in fault.env:
            make = f"truncate -s 8G /run/d && mkfs.ext4 -q /run/d && mkdir -p {SMALL_DISK}"
            rig.run(1, ["sh", "-c", f"{make} && mount /run/d {SMALL_DISK}"])
        try:
            yield rig
        finally:
            thaw(fault, rig)
    with contextlib.suppress(OSError):
        Path(OOM_GROUP).rmdir()


def thaw(fault: Fault, rig: Rig) -> None:
    """A frozen file system would keep the end of its namespace waiting. Nothing where the rig has gone."""
    if "SAVE_TO" in fault.env:
        with contextlib.suppress(KeyError, IndexError, OSError):
            rig.run(1, ["fsfreeze", "-u", SMALL_DISK], check=False)


def arguments(outcome: Outcome, rank: int) -> list[str]:
    words = ["--fault", outcome.fault, "--phase", outcome.phase, "--rank", str(rank)]
    return [*words, "--step", str(25 + 10 * outcome.seed)]


def rank_of(outcome: Outcome) -> int:
    return (NODE - 1) * outcome.per_node + outcome.seed % outcome.per_node


# ---- ours ----


def ours(name: str, phase: str, seed: int = 0, per_node: int = 1) -> Outcome:
    outcome = Outcome("ours", name, phase, seed, per_node, on=time.strftime("%Y-%m-%d"))
    folder = fresh()
    with rig_with(FAULTS[name]) as rig:
        call = caller(rig, folder)
        controller = subprocess.Popen(
            call("run", run_file(outcome, folder), "--json"), stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        run: dict[str, Any] = {}
        try:
            if wait_for(folder / "reached", controller):
                run = status(call)
                suffer(outcome, rig, call, run, folder, controller)
            else:
                refused(outcome, output_of(controller))
        finally:
            with contextlib.suppress(subprocess.SubprocessError):
                words = call("stop", run["id"], "-y") if run else ["true"]
                subprocess.run(words, capture_output=True, timeout=120, check=False)
            controller.kill()
            controller.wait()
        if run and not FAULTS[name].goes_on:
            thaw(FAULTS[name], rig)  # SIGKILL waits for a process that is frozen with its file system
            outcome.left = left(rig, run["id"], but=NODE if name == "power-off" else 0)
    return outcome


def run_file(outcome: Outcome, folder: Path) -> Path:
    fault = FAULTS[outcome.fault]
    data = {
        "name": "fault",
        "nodes": "node[1-3]",
        "gpus": outcome.per_node,
        "environment": {"python": sys.executable},
        "env": {"FAULT_DIR": str(folder), **fault.env},
        "save": {"to": fault.env.get("SAVE_TO", str(folder / "out"))},
        "train": {"command": [str(LOOP), *arguments(outcome, rank_of(outcome))]},
    }
    path = folder / "run.yaml"
    path.write_text(json.dumps(data))
    return path


def suffer(
    outcome: Outcome,
    rig: Rig,
    call: Callable[..., list[str]],
    run: dict[str, Any],
    folder: Path,
    controller: subprocess.Popen,
) -> None:
    """The fault, what is said of it, and what is left of the checkpoints."""
    before = newest_verified(str(folder / "out" / run["id"]))
    outcome.busy = os.getloadavg()[0]
    try:
        began = inject(FAULTS[outcome.fault], rig, {**run, "controller": controller}, folder)
    except subprocess.CalledProcessError as error:
        outcome.trouble = (
            f"cannot be made here: {' '.join(error.stderr.decode('utf-8', 'replace').split())[-200:]}"
        )
        return
    follow(outcome, rig, run, began)
    with contextlib.suppress(subprocess.SubprocessError):
        subprocess.run(call("stop", run["id"], "-y"), capture_output=True, timeout=120, check=False)
    if before is not None:  # a run that goes on replaces it by newer ones
        after = newest_verified(str(folder / "out" / run["id"]))
        outcome.kept = after is not None and (after.step or 0) >= (before.step or 0)


def follow(outcome: Outcome, rig: Rig, run: dict[str, Any], began: float) -> None:
    """Reads the keeper's journal until the run has ended, or the right cause of a stall is named."""
    fault = FAULTS[outcome.fault]
    stay = STAY_SECONDS if fault.goes_on else CUT_SECONDS
    while time.time() < began + stay:
        found = [e for e in journal(rig, run) if e["at"] >= began - 0.2]
        judge(outcome, found, began)
        if any(e["kind"] == "state" and e["data"].get("state") in ("failed", "stopped") for e in found):
            break
        if outcome.right_cause and "no-progress" in fault.causes:
            break  # such a run goes on until a person or ten minutes stop it
        time.sleep(0.5)
    if fault.goes_on:
        late = [e["at"] for e in journal(rig, run) if e["kind"] == "beat" and e["data"].get("steps")]
        outcome.right_place = outcome.noticed is None and bool(late) and late[-1] > began + stay / 2


def judge(outcome: Outcome, events: list[dict[str, Any]], began: float) -> None:
    """All of what was said so far, judged anew: the diagnosis counts where there is one, else any alarm."""
    fault, rank = FAULTS[outcome.fault], rank_of(outcome)
    outcome.noticed = outcome.named = None
    outcome.said, outcome.statements = "", []
    outcome.right_place = outcome.right_cause = decided = False
    for event in events:
        data, after = event["data"], round(event["at"] - began, 1)
        alarm = event["kind"] == "finding" and data.get("verdict") in ("warn", "block")
        dead = event["kind"] in ("rank-gone", "exception", "lost", "torchrun-ended", "lease-lost")
        if (alarm or dead) and outcome.noticed is None:
            outcome.noticed = after
        final = event["kind"] == "diagnosis"
        if not alarm and not final:
            continue
        where, cause = data.get("where") or {}, data.get("id") or data.get("cause")
        place = where.get("node") == f"node{fault.node}" and (not fault.rank or where.get("rank") == rank)
        number = where.get("rank")
        told = " ".join(filter(None, [cause, where.get("node"), "" if number is None else f"rank {number}"]))
        outcome.statements.append(f"{after} {told}")
        if place and outcome.named is None:
            outcome.named = after
        if decided and not final:
            continue
        outcome.said = told
        right = place and cause in fault.causes
        outcome.right_place = place if final else outcome.right_place or place
        outcome.right_cause = right if final else outcome.right_cause or right
        decided = decided or final


# ---- plain torchrun ----


def plain(name: str, phase: str, seed: int = 0, per_node: int = 1) -> Outcome:
    """The same script under three torchruns, started in each node by hand."""
    fault = FAULTS[name]
    outcome = Outcome("torchrun", name, phase, seed, per_node, on=time.strftime("%Y-%m-%d"))
    folder, rank = fresh(), rank_of(outcome)
    with rig_with(fault) as rig, contextlib.ExitStack() as stack:
        logs = [stack.enter_context(open(folder / f"torchrun-{n}.log", "wb")) for n in (1, 2, 3)]
        env = {"FAULT_DIR": str(folder), "GLOO_SOCKET_IFNAME": "eth0", "OMP_NUM_THREADS": "1", **fault.env}
        started = []
        for number, log in zip((1, 2, 3), logs, strict=True):
            words = ["env", *(f"{k}={v}" for k, v in env.items())]
            words += [sys.executable, "-m", "torch.distributed.run", "--nnodes=3"]
            words += [f"--nproc-per-node={per_node}", f"--node-rank={number - 1}"]
            words += [f"--master-addr={address(1)}", "--master-port=29500"]
            command = [*words, str(LOOP), *arguments(outcome, rank)]
            started.append(subprocess.Popen(rig.inside(number, command), stdout=log, stderr=log))
        try:
            if not wait_for(folder / "reached", started[0]):
                outcome.trouble = "did not come to the fault"
                return outcome
            outcome.busy = os.getloadavg()[0]
            watch_torchruns(outcome, inject(fault, rig, {}, folder), started, folder)
            blamed = blamed_by(folder)
            outcome.said = ", ".join(f"node{n}: rank {r}" for n, r in sorted(blamed.items())) or "nobody"
            outcome.right_place = bool(blamed) and set(blamed.values()) == {rank}
        finally:
            thaw(fault, rig)
            rig.down()
            for process in started:
                process.wait(30)
    return outcome


def watch_torchruns(outcome: Outcome, began: float, started: list[subprocess.Popen], folder: Path) -> None:
    """Until one of them ends or prints an error. The dead node's own is not there to say anything."""
    numbers = [n for n in (1, 2, 3) if not (outcome.fault == "power-off" and n == NODE)]
    cut = STAY_SECONDS if FAULTS[outcome.fault].goes_on else CUT_SECONDS
    while time.time() < began + cut and outcome.noticed is None:
        gone = any(started[n - 1].poll() is not None for n in numbers)
        said = any(b"Error" in (folder / f"torchrun-{n}.log").read_bytes() for n in numbers)
        outcome.noticed = round(time.time() - began, 1) if gone or said else None
        time.sleep(0.2)
    time.sleep(5.0 if outcome.noticed is not None else 0.0)


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
    source = Path(__file__).resolve().parent.parent / "src"
    env = ["env", f"HOME={folder}", f"ALLRANKS_HOME={folder / 'allranks'}", f"PYTHONPATH={source}"]
    return lambda *words: rig.from_ctl([*env, sys.executable, "-m", "allranks.cli", *map(str, words)])


def status(call: Callable[..., list[str]]) -> dict[str, Any]:
    done = subprocess.run(call("ps", "--json"), capture_output=True, text=True, timeout=120, check=True)
    return json.loads(done.stdout)["runs"][0]


def journal(rig: Rig, run: dict[str, Any]) -> list[dict[str, Any]]:
    text = rig.run(1, ["cat", f"{run['directory']}/keeper/journal.jsonl"]).stdout.decode("utf-8", "replace")
    return [json.loads(line) for line in text.splitlines() if line.endswith("}")]


def left(rig: Rig, run_id: str, but: int) -> int:
    """Processes, containers and mounts of the run, on the nodes that are there, when all have had their time."""
    look = (
        f"grep -lzs '^ALLRANKS_RUN_ID={run_id}$' /proc/[0-9]*/environ; grep -s {run_id} /proc/mounts; "
        f"docker ps -aq --filter name={run_id} 2>/dev/null; true"
    )
    deadline = time.time() + END_SECONDS
    while True:
        lines = [rig.run(n, ["sh", "-c", look]).stdout.split(b"\n") for n in (1, 2, 3) if n != but]
        count = sum(len(one) - 1 for one in lines)
        if not count or time.time() > deadline:
            return count
        time.sleep(1.0)


def output_of(process: subprocess.Popen) -> str:
    process.kill()
    return (process.communicate()[0] or b"").decode("utf-8", "replace")


def refused(outcome: Outcome, said: str) -> None:
    """A run that the checks did not let begin: the fault was seen before it could do anything."""
    try:
        found = json.loads(said)
        stopping = [f for f in found["findings"] if f["id"] in found["stopped_by"]]
        first = stopping[0]
    except (ValueError, KeyError, IndexError, TypeError):
        outcome.trouble = f"did not come to the fault: {' '.join(said.split())[-300:]}"
        return
    node = (first.get("where") or {}).get("node")
    outcome.noticed = outcome.named = 0.0
    outcome.said = f"not started: {first['id']} {node or ''}".strip()
    outcome.right_place = node == f"node{NODE}"
    outcome.right_cause = outcome.right_place and first["id"] in FAULTS[outcome.fault].causes
    outcome.left = 0
    if not outcome.right_cause:  # something else stood in the way, not this fault
        outcome.trouble = outcome.said
