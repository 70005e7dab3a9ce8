"""One trial of `benchmarks/faults.py` under allranks: the fault, what is said of it, and what is left."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from allranks.checkpoints.find import newest_verified
from benchmarks._fault import HEAD, LOOP, Fault
from benchmarks._fault_judge import faults_of, judge
from benchmarks._fault_nodes import SOURCE, Nodes, Strangers, nodes_for
from benchmarks._fault_results import CUT_SECONDS, LEFT_SECONDS, Outcome

START_SECONDS = 300.0
SECOND_SECONDS = 5.0
STAY_SECONDS = 30.0
MORE_SECONDS = 10.0
"""How long a run that stands still is followed after it was named rightly: a wrong word after the right one counts."""

END_SECONDS = 60.0
"""A node that hears nothing stops its ranks after the lease (30 s) and the grace time (10 s)."""

NEWEST = """
import json, sys
from allranks.checkpoints.find import newest_verified
found = newest_verified(sys.argv[1])
print(json.dumps(None if found is None else found.step or 0))
"""
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


# ---- what both sides share ----


def filled(text: str, folder: Path) -> str:
    return text.replace("{folder}", str(folder)).replace("{name}", folder.name)


@contextlib.contextmanager
def prepared(outcome: Outcome, home: Path) -> Iterator[Nodes]:
    """The nodes of a trial, with what its faults need to be there before the run; all of it is taken away again."""
    folder = Path(tempfile.mkdtemp(prefix="trial-", dir=home.parent))
    planted = list(zip(faults_of(outcome), [outcome.node, outcome.second_node], strict=False))
    on_rig, count = any(fault.rig for fault, _ in planted), count_of(outcome)
    with nodes_for(on_rig, folder, home, count) as nodes:
        try:
            for fault, node in planted:
                for line in fault.before:
                    nodes.run(node, ["sh", "-c", filled(line, folder)])
            yield nodes
        finally:
            afterwards(outcome, nodes)


def afterwards(outcome: Outcome, nodes: Nodes) -> None:
    """Nothing if a node has gone. A frozen file system would keep the end of its namespace waiting."""
    for fault, node in zip(faults_of(outcome), [outcome.node, outcome.second_node], strict=False):
        for line in fault.after:
            with contextlib.suppress(KeyError, IndexError, OSError, subprocess.SubprocessError):
                nodes.run(node, ["sh", "-c", filled(line, nodes.folder)], check=False, timeout=30)


def count_of(outcome: Outcome) -> int:
    return max(fault.count for fault in faults_of(outcome))


def arguments(outcome: Outcome) -> list[str]:
    rank = -1 if faults_of(outcome)[0].everywhere else outcome.rank
    words = ["--fault", outcome.fault, "--phase", outcome.phase, "--rank", str(rank)]
    words += ["--step", str(outcome.step)]
    return words + (
        ["--second", outcome.second, "--second-rank", str(outcome.second_rank)] * bool(outcome.second)
    )


def environment(outcome: Outcome, nodes: Nodes) -> dict[str, str]:
    own = {k: filled(v, nodes.folder) for fault in faults_of(outcome) for k, v in fault.env.items()}
    return {"FAULT_DIR": str(nodes.folder), **nodes.env(), **own}


def wait_for(path: Path, process: subprocess.Popen[bytes] | None, seconds: float = START_SECONDS) -> bool:
    deadline = time.time() + seconds
    while not path.exists():
        if time.time() > deadline or (process is not None and process.poll() is not None):
            return False
        time.sleep(0.05)
    return True


def inject(outcome: Outcome, nodes: Nodes, run: dict[str, Any]) -> float:
    """The moment of the fault; of two, of the first. One that takes long goes on beside what follows."""
    moments = []
    places = [("", outcome.node), ("-2", outcome.second_node)]
    for (tail, node), fault in zip(places, faults_of(outcome), strict=False):
        if tail and not wait_for(nodes.folder / f"reached{tail}", None, SECOND_SECONDS):
            continue  # the first fault came to this rank, too
        if fault.inject is None:
            at = nodes.folder / f"at{tail}"
            moments.append(float((at if at.exists() else nodes.folder / f"reached{tail}").read_text()))
            continue
        moments.append(time.time())
        making = threading.Thread(target=fault.inject, args=(nodes, run, node), daemon=True)
        making.start()
        making.join(10.0)
    return min(moments)


# ---- ours ----


def ours(outcome: Outcome, home: Path) -> Outcome:
    with prepared(outcome, home) as nodes:
        log = (nodes.folder / "controller.log").open("w+b")
        command = nodes.call("run", run_file(outcome, nodes), "--json")
        controller = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        try:
            if wait_for(nodes.folder / "reached", controller):
                Trial(outcome, nodes, {**status(nodes), "controller": controller}).run()
            else:
                controller.kill()
                controller.wait()
                refused(outcome, (nodes.folder / "controller.log").read_text("utf-8", "replace"))
        except (subprocess.SubprocessError, ValueError, KeyError, OSError) as error:
            outcome.trouble = f"the trial failed: {type(error).__name__}: {error}"[:300]  # the series goes on
        finally:
            controller.kill()
            controller.wait()
            log.close()
    return outcome


def run_file(outcome: Outcome, nodes: Nodes) -> Path:
    env = environment(outcome, nodes)
    data = {
        "name": "fault",
        "nodes": f"node[1-{count_of(outcome)}]",
        "gpus": {"count": outcome.per_node, "model": "cpu"},
        "environment": {"python": sys.executable},
        "env": env,
        "save": {"to": env.get("SAVE_TO", str(nodes.folder / "out"))},
        "train": {"command": [str(LOOP), *arguments(outcome)]},
        **nodes.keys(),
    }
    path = nodes.folder / "run.yaml"
    path.write_text(json.dumps(data))
    return path


def status(nodes: Nodes) -> dict[str, Any]:
    """The newest run of this home: each trial has its lane's home to itself."""
    done = subprocess.run(nodes.call("ps", "--json"), capture_output=True, text=True, timeout=120, check=True)
    runs = json.loads(done.stdout)["runs"]
    return max(runs, key=lambda run: run.get("started_at") or 0.0)


class Trial:
    """A run that has come to the place of its fault."""

    def __init__(self, outcome: Outcome, nodes: Nodes, run: dict[str, Any]):
        self.outcome, self.nodes, self.status = outcome, nodes, run
        self.faults = faults_of(outcome)
        self.planted = list(zip(self.faults, [outcome.node, outcome.second_node], strict=False))
        off = [n for fault, node in self.planted if fault.off for n in (node, *fault.also)]
        self.there = [number for number in range(1, count_of(outcome) + 1) if number not in off]

    def all(self, name: str) -> bool:
        return all(getattr(fault, name) for fault in self.faults)

    def run(self) -> None:
        before = self.newest()
        strangers = Strangers(self.nodes, self.status, self.there)
        try:
            self.outcome.busy = os.getloadavg()[0]
            self.follow_it()
            if before is not None:  # a run that goes on replaces it by newer ones
                after = self.newest()
                self.outcome.kept = after is not None and after >= before
            self.clean()
            self.outcome.strangers = strangers.harmed()
        finally:
            if self.outcome.files_left is None:  # cut short: the run may still train
                self.stop()
                self.clean()
            strangers.end()

    def follow_it(self) -> None:
        try:
            began = inject(self.outcome, self.nodes, self.status)
        except subprocess.CalledProcessError as error:
            said = " ".join(error.stderr.decode("utf-8", "replace").split())[-200:]
            self.outcome.trouble = f"cannot be made here: {said}"
            return self.stop()
        if self.all("lost"):
            return self.without_keeper(began)
        over_at = self.follow(began)
        if not self.all("goes_on"):
            self.count_what_is_left(over_at)
        else:
            self.stop()

    def newest(self) -> int | None:
        """The step of the run's newest whole checkpoint; None where there is none. Read where it lies: the head may
        have a disk of its own for it. All see the other folder, and a fault from outside is to come right after."""
        folder = str(self.status["output_dir"])
        if folder.startswith(str(self.nodes.folder / "out")) or self.nodes.machines == (HEAD,):
            found = newest_verified(folder)
            return None if found is None else found.step or 0
        words = ["env", f"PYTHONPATH={SOURCE}", sys.executable, "-c", NEWEST, folder]
        return json.loads(self.nodes.run(HEAD, words, timeout=60).stdout)

    def stop(self) -> None:
        with contextlib.suppress(subprocess.SubprocessError):
            words = self.nodes.call("stop", self.status["id"], "-y")
            subprocess.run(words, capture_output=True, timeout=120, check=False)

    def clean(self) -> None:
        """As a person would, with the files; then what of the run is left in the places for short-lived files."""
        with contextlib.suppress(subprocess.SubprocessError):
            words = self.nodes.call("clean", self.status["id"], "--files", "-y")
            subprocess.run(words, capture_output=True, timeout=120, check=False)
        look = ["sh", "-c", f"find /tmp /dev/shm -maxdepth 2 -name '*{self.status['id']}*' 2>/dev/null"]
        near = [number for number in self.nodes.machines if number in self.there]
        found = [line for n in near for line in self.nodes.run(n, look, check=False).stdout.splitlines()]
        self.outcome.files_left = len(set(found))

    # ---- with a keeper ----

    def follow(self, began: float) -> float | None:
        """Reads the keeper's journal; when the run said that it is over, None where it goes on or stands still."""
        goes_on, longest = self.all("goes_on"), max(fault.limit for fault in self.faults)
        until = began + (STAY_SECONDS if goes_on else max(CUT_SECONDS, longest))
        while time.time() < until:
            found = [e for e in self.journal() if e["at"] >= began - 0.2]
            quiet = judge(self.outcome, found, began)
            ends = [e["at"] for e in found if e["kind"] == "state" and e["data"].get("state") in OVER]
            if ends:
                return ends[0]
            if self.all("stands") and self.outcome.right_cause:
                until = min(until, began + (self.outcome.named or 0.0) + MORE_SECONDS)
            if goes_on:
                late = [e["at"] for e in found if e["kind"] == "beat" and e["data"].get("steps")]
                self.outcome.right_place = quiet and bool(late) and late[-1] > began + STAY_SECONDS / 2
            time.sleep(1.0)
        return None

    def journal(self) -> list[dict[str, Any]]:
        path = f"{self.status['directory']}/keeper/journal.jsonl"
        text = self.nodes.read(HEAD, path).decode("utf-8", "replace")
        return [json.loads(line) for line in text.splitlines() if line.endswith("}")]

    def count_what_is_left(self, over_at: float | None) -> None:
        """Before anybody asks for a stop, `LEFT_SECONDS` after the last word. A node that was cut off has until its
        lease and its grace time are over; one without power is not there."""
        outcome = self.outcome
        cut = [node for fault, node in self.planted if fault.cut]
        outcome.asked = over_at is None
        if over_at is None:
            self.stop()
            over_at = time.time()
            afterwards(outcome, self.nodes)  # SIGKILL waits for a process that is frozen with its file system
        near = [n for n in self.there if n not in cut]
        outcome.left, outcome.clean_after = self.left(near, over_at, LEFT_SECONDS)
        if cut:
            outcome.left += self.left(cut, over_at, END_SECONDS)[0]

    def left(self, numbers: list[int], since: float, seconds: float) -> tuple[int, float | None]:
        """Processes, containers and mounts of the run on these nodes, and when after `since` there were none."""
        run_id = self.status["id"]
        look = (
            f"grep -lzs '^ALLRANKS_RUN_ID={run_id}$' /proc/[0-9]*/environ; grep -s {run_id} /proc/mounts; "
            f"docker ps -aq --filter name={run_id} 2>/dev/null; true"
        )
        machines = [n for n in self.nodes.machines if n in numbers or len(self.nodes.machines) == 1]
        while True:
            lines = [self.nodes.run(n, ["sh", "-c", look]).stdout.split(b"\n") for n in machines]
            count = sum(len(one) - 1 for one in lines)
            after = time.time() - since
            if not count or after > seconds:
                return count, None if count else round(after, 1)
            time.sleep(0.5)

    # ---- without one ----

    def without_keeper(self, began: float) -> None:
        """The other nodes end by their leases, and whoever asks is told that the run is lost."""
        outcome, fault = self.outcome, self.faults[0]
        outcome.left, outcome.clean_after = self.left(self.there, began, END_SECONDS)
        while time.time() < began + CUT_SECONDS:
            told = status(self.nodes)
            after = round(time.time() - began, 1)
            found = told.get("diagnosis") or {}
            outcome.said = " ".join(filter(None, [f"{told['state']}:", found.get("cause"), told.get("why")]))
            if told["state"] != "running" and outcome.noticed is None:
                outcome.noticed = after
            if told["state"] == "lost":
                outcome.named = after
                outcome.right_place = (found.get("where") or {}).get("node") == f"node{HEAD}"
                outcome.right_cause = any(right.fits(found) for right in fault.right)
                return
            time.sleep(2.0)


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
    fault: Fault = faults_of(outcome)[0]
    outcome.right_cause = outcome.right_place and any(one.fits(first) for one in fault.right)
    outcome.left = 0
    if not outcome.right_cause:  # something else stood in the way, not this fault
        outcome.trouble = outcome.said
