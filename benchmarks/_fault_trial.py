"""One trial of `benchmarks/faults.py`: a fault under allranks, and the same under three torchruns started by hand."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from allranks.checkpoints.find import newest_verified
from benchmarks._fault_judge import judge
from benchmarks._fault_results import CUT_SECONDS, LEFT_SECONDS, Outcome, begun
from benchmarks._faults import FAULTS, HEAD, LOOP, OOM_GROUP, SMALL_DISK, Fault
from tests.rig.rig import STATE, Rig, address

SHARED = Path(tempfile.gettempdir()) / f"allranks-faults{STATE.name.rpartition('rig')[2]}"
START_SECONDS = 300.0
STAY_SECONDS = 30.0
MORE_SECONDS = 10.0
"""How long a run that stands still is followed after it was named rightly: a wrong word after the right one counts."""

END_SECONDS = 60.0
"""A node that hears nothing stops its ranks after the lease (30 s) and the grace time (10 s)."""

SOURCE = Path(__file__).resolve().parent.parent / "src"
NEWEST = """
import json, sys
from allranks.checkpoints.find import newest_verified
found = newest_verified(sys.argv[1])
print(json.dumps(None if found is None else found.step or 0))
"""
NODES = (1, 2, 3)
OVER = ("failed", "stopped")


@contextlib.contextmanager
def stoppable() -> Iterator[None]:
    """SIGINT and SIGTERM end the bench through its own ends of all that it has begun; a second one does not cut
    that short."""
    signals = (signal.SIGINT, signal.SIGTERM)

    def end(number: int, _frame: object) -> None:
        for one in signals:
            signal.signal(one, signal.SIG_IGN)
        raise SystemExit(128 + number)

    before = {one: signal.signal(one, end) for one in signals}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


@contextlib.contextmanager
def rig_with(fault: Fault, node: int) -> Iterator[Rig]:
    with Rig(len(NODES), shared=[sys.prefix, str(SHARED)]) as rig:
        try:
            for command in fault.before:
                rig.run(node, ["sh", "-c", command])
            if "SAVE_TO" in fault.env:
                make = f"truncate -s 8G /run/d && mkfs.ext4 -q -m 0 /run/d && mkdir -p {SMALL_DISK}"
                rig.run(HEAD, ["sh", "-c", f"{make} && mount /run/d {SMALL_DISK}"])
            yield rig
        finally:
            thaw(fault, rig)
    with contextlib.suppress(OSError):
        Path(OOM_GROUP).rmdir()


def thaw(fault: Fault, rig: Rig) -> None:
    """A frozen file system would keep the end of its namespace waiting. Nothing where the rig has gone."""
    if "SAVE_TO" in fault.env:
        with contextlib.suppress(KeyError, IndexError, OSError):
            rig.run(HEAD, ["fsfreeze", "-u", SMALL_DISK], check=False)


def arguments(outcome: Outcome) -> list[str]:
    words = ["--fault", outcome.fault, "--phase", outcome.phase, "--rank", str(outcome.rank)]
    return [*words, "--step", str(25 + 10 * outcome.seed)]


# ---- ours ----


def ours(name: str, phase: str, seed: int = 0, per_node: int = 1) -> Outcome:
    outcome = begun("ours", name, phase, seed, per_node)
    fault, folder = FAULTS[name], fresh()
    with rig_with(fault, outcome.node) as rig:
        call = caller(rig, folder)
        controller = subprocess.Popen(
            call("run", run_file(outcome, folder), "--json"), stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        try:
            if wait_for(folder / "reached", controller):
                run = {**status(call), "controller": controller}
                Trial(outcome, rig, call, run, folder).run()
            else:
                refused(outcome, output_of(controller))
        except (subprocess.SubprocessError, ValueError, KeyError) as error:
            outcome.trouble = f"the trial failed: {type(error).__name__}: {error}"[:300]  # the series goes on
        finally:
            controller.kill()
            controller.wait()
    return outcome


def run_file(outcome: Outcome, folder: Path) -> Path:
    fault = FAULTS[outcome.fault]
    data = {
        "name": "fault",
        "nodes": "node[1-3]",
        "gpus": {"count": outcome.per_node, "model": "cpu"},
        "environment": {"python": sys.executable},
        "env": {"FAULT_DIR": str(folder), **fault.env},
        "save": {"to": fault.env.get("SAVE_TO", str(folder / "out"))},
        "train": {"command": [str(LOOP), *arguments(outcome)]},
    }
    path = folder / "run.yaml"
    path.write_text(json.dumps(data))
    return path


class Trial:
    """A run that has come to the place of its fault: the fault, what is said of it, and what is left."""

    def __init__(
        self, outcome: Outcome, rig: Rig, call: Callable[..., list[str]], run: dict[str, Any], folder: Path
    ):
        self.outcome, self.fault = outcome, FAULTS[outcome.fault]
        self.rig, self.call, self.status, self.folder = rig, call, run, folder

    def run(self) -> None:
        before = self.newest()
        self.outcome.busy = os.getloadavg()[0]
        try:
            began = inject(self.fault, self.rig, self.status, self.folder, self.outcome.node)
        except subprocess.CalledProcessError as error:
            said = " ".join(error.stderr.decode("utf-8", "replace").split())[-200:]
            self.outcome.trouble = f"cannot be made here: {said}"
            return self.stop()
        if self.fault.lost:
            return self.without_keeper(began)
        over_at = self.follow(began)
        if not self.fault.goes_on:
            self.count_what_is_left(over_at)
        else:
            self.stop()
        if before is not None:  # a run that goes on replaces it by newer ones
            after = self.newest()
            self.outcome.kept = after is not None and after >= before

    def newest(self) -> int | None:
        """The step of the run's newest whole checkpoint; None where there is none. Read where it lies: the head may
        have a disk of its own for it. All see the other folder, and a fault from outside is to come right after."""
        folder = str(self.status["output_dir"])
        if "SAVE_TO" not in self.fault.env:
            found = newest_verified(folder)
            return None if found is None else found.step or 0
        words = ["env", f"PYTHONPATH={SOURCE}", sys.executable, "-c", NEWEST, folder]
        return json.loads(self.rig.run(HEAD, words, timeout=60).stdout)

    def stop(self) -> None:
        with contextlib.suppress(subprocess.SubprocessError):
            words = self.call("stop", self.status["id"], "-y")
            subprocess.run(words, capture_output=True, timeout=120, check=False)

    # ---- with a keeper ----

    def follow(self, began: float) -> float | None:
        """Reads the keeper's journal; when the run said that it is over, None where it goes on or stands still."""
        until = began + (STAY_SECONDS if self.fault.goes_on else CUT_SECONDS)
        while time.time() < until:
            found = [e for e in self.journal() if e["at"] >= began - 0.2]
            quiet = judge(self.outcome, found, began)
            ends = [e["at"] for e in found if e["kind"] == "state" and e["data"].get("state") in OVER]
            if ends:
                return ends[0]
            if self.fault.stands and self.outcome.right_cause:
                until = min(until, began + (self.outcome.named or 0.0) + MORE_SECONDS)
            if self.fault.goes_on:
                late = [e["at"] for e in found if e["kind"] == "beat" and e["data"].get("steps")]
                self.outcome.right_place = quiet and bool(late) and late[-1] > began + STAY_SECONDS / 2
            time.sleep(0.5)
        return None

    def journal(self) -> list[dict[str, Any]]:
        path = f"{self.status['directory']}/keeper/journal.jsonl"
        text = self.rig.run(HEAD, ["cat", path]).stdout.decode("utf-8", "replace")
        return [json.loads(line) for line in text.splitlines() if line.endswith("}")]

    def count_what_is_left(self, over_at: float | None) -> None:
        """Before anybody asks for a stop, `LEFT_SECONDS` after the last word. A node that was cut off has until its
        lease and its grace time are over; one without power is not there."""
        outcome = self.outcome
        gone = outcome.node if self.fault.cut or outcome.fault == "power-off" else 0
        outcome.asked = over_at is None
        if over_at is None:
            self.stop()
            over_at = time.time()
            thaw(self.fault, self.rig)  # SIGKILL waits for a process that is frozen with its file system
        near = [n for n in NODES if n != gone]
        outcome.left, outcome.clean_after = self.left(near, over_at, LEFT_SECONDS)
        if self.fault.cut:
            outcome.left += self.left([gone], over_at, END_SECONDS)[0]

    def left(self, nodes: list[int], since: float, seconds: float) -> tuple[int, float | None]:
        """Processes, containers and mounts of the run on these nodes, and when after `since` there were none."""
        run_id = self.status["id"]
        look = (
            f"grep -lzs '^ALLRANKS_RUN_ID={run_id}$' /proc/[0-9]*/environ; grep -s {run_id} /proc/mounts; "
            f"docker ps -aq --filter name={run_id} 2>/dev/null; true"
        )
        while True:
            lines = [self.rig.run(n, ["sh", "-c", look]).stdout.split(b"\n") for n in nodes]
            count = sum(len(one) - 1 for one in lines)
            after = time.time() - since
            if not count or after > seconds:
                return count, None if count else round(after, 1)
            time.sleep(0.5)

    # ---- without one ----

    def without_keeper(self, began: float) -> None:
        """The other nodes end by their leases, and whoever asks is told that the run is lost."""
        outcome = self.outcome
        others = [n for n in NODES if n != HEAD or outcome.fault == "keeper"]
        outcome.left, outcome.clean_after = self.left(others, began, END_SECONDS)
        while time.time() < began + CUT_SECONDS:
            told = status(self.call)
            after = round(time.time() - began, 1)
            found = told.get("diagnosis") or {}
            outcome.said = " ".join(filter(None, [f"{told['state']}:", found.get("cause"), told.get("why")]))
            if told["state"] != "running" and outcome.noticed is None:
                outcome.noticed = after
            if told["state"] == "lost":
                outcome.named = after
                outcome.right_place = (found.get("where") or {}).get("node") == f"node{HEAD}"
                outcome.right_cause = any(right.fits(found) for right in self.fault.right)
                return
            time.sleep(2.0)


# ---- plain torchrun ----


def plain(name: str, phase: str, seed: int = 0, per_node: int = 1) -> Outcome:
    """The same script under three torchruns, started in each node by hand."""
    fault = FAULTS[name]
    outcome = begun("torchrun", name, phase, seed, per_node)
    folder = fresh()
    with rig_with(fault, outcome.node) as rig, contextlib.ExitStack() as stack:
        logs = [stack.enter_context(open(folder / f"torchrun-{n}.log", "wb")) for n in NODES]
        env = {"FAULT_DIR": str(folder), "GLOO_SOCKET_IFNAME": "eth0", "OMP_NUM_THREADS": "1", **fault.env}
        started = []
        for number, log in zip(NODES, logs, strict=True):
            words = ["env", *(f"{k}={v}" for k, v in env.items())]
            words += [sys.executable, "-m", "torch.distributed.run", "--nnodes=3"]
            words += [f"--nproc-per-node={per_node}", f"--node-rank={number - 1}"]
            words += [f"--master-addr={address(1)}", "--master-port=29500"]
            command = [*words, str(LOOP), *arguments(outcome)]
            started.append(subprocess.Popen(rig.inside(number, command), stdout=log, stderr=log))
        try:
            if not wait_for(folder / "reached", started[0]):
                outcome.trouble = "did not come to the fault"
                return outcome
            outcome.busy = os.getloadavg()[0]
            watch_torchruns(outcome, inject(fault, rig, {}, folder, outcome.node), started, folder)
            blamed = blamed_by(folder)
            outcome.said = ", ".join(f"node{n}: rank {r}" for n, r in sorted(blamed.items())) or "nobody"
            outcome.right_place = bool(blamed) and set(blamed.values()) <= ranks_of(outcome)
        finally:
            thaw(fault, rig)
            rig.down()
            for process in started:
                process.wait(30)
    return outcome


def watch_torchruns(outcome: Outcome, began: float, started: list[subprocess.Popen], folder: Path) -> None:
    """Until one of them ends or prints an error. The dead node's own is not there to say anything."""
    numbers = [n for n in NODES if not (outcome.fault == "power-off" and n == outcome.node)]
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
    for number in NODES:
        text = (folder / f"torchrun-{number}.log").read_text(errors="replace")
        match = re.search(r"Root Cause.*?rank\s*:\s*(\d+)", text, re.DOTALL)
        if match:
            found[number] = int(match.group(1))
    return found


def ranks_of(outcome: Outcome) -> set[int]:
    """Whom a right word may blame: the rank, or any of the node where the fault is the node's."""
    first = (outcome.node - 1) * outcome.per_node
    return {outcome.rank} if FAULTS[outcome.fault].rank else set(range(first, first + outcome.per_node))


# ---- tools ----


def fresh() -> Path:
    SHARED.mkdir(mode=0o700, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix="trial-", dir=SHARED))


def inject(fault: Fault, rig: Rig, run: dict[str, Any], folder: Path, node: int) -> float:
    """The moment of the fault."""
    if fault.inject is None:
        at = folder / "at"
        return float(at.read_text()) if at.exists() else float((folder / "reached").read_text())
    fault.inject(rig, run, node)
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
    env = ["env", f"HOME={folder}", f"ALLRANKS_HOME={folder / 'allranks'}", f"PYTHONPATH={SOURCE}"]
    return lambda *words: rig.from_ctl([*env, sys.executable, "-m", "allranks.cli", *map(str, words)])


def status(call: Callable[..., list[str]]) -> dict[str, Any]:
    done = subprocess.run(call("ps", "--json"), capture_output=True, text=True, timeout=120, check=True)
    return json.loads(done.stdout)["runs"][0]


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
    outcome.right_place = node == f"node{outcome.node}"
    outcome.right_cause = outcome.right_place and any(one.fits(first) for one in FAULTS[outcome.fault].right)
    outcome.left = 0
    if not outcome.right_cause:  # something else stood in the way, not this fault
        outcome.trouble = outcome.said
