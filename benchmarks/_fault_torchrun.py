"""One trial of `benchmarks/faults.py` under plain torchrun: the same script, three torchruns started by hand."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import time
from pathlib import Path

from benchmarks import _marked
from benchmarks._fault import LOOP, NODES
from benchmarks._fault_judge import faults_of
from benchmarks._fault_results import PLAIN_SECONDS, Outcome
from benchmarks._fault_trial import (
    STAY_SECONDS,
    afterwards,
    arguments,
    count_of,
    environment,
    inject,
    prepared,
    wait_for,
)


def plain(outcome: Outcome, home: Path) -> Outcome:
    numbers = range(1, count_of(outcome) + 1)
    with prepared(outcome, home) as nodes, contextlib.ExitStack() as stack:
        logs = [stack.enter_context(open(nodes.folder / f"torchrun-{n}.log", "wb")) for n in numbers]
        words = ["env", *(f"{k}={v}" for k, v in environment(outcome, nodes).items())]
        started = []
        for number, log in zip(numbers, logs, strict=True):
            torchrun = [*words, sys.executable, "-m", "torch.distributed.run", f"--nnodes={len(numbers)}"]
            torchrun += [f"--nproc-per-node={outcome.per_node}", f"--node-rank={number - 1}"]
            torchrun += [f"--master-addr={nodes.address(1)}", f"--master-port={nodes.port}"]
            command = nodes.inside(number, [*torchrun, str(LOOP), *arguments(outcome)])
            started.append(subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True))
        try:
            if not wait_for(nodes.folder / "reached", started[0]):
                outcome.trouble = "did not come to the fault"
                return outcome
            outcome.busy = os.getloadavg()[0]
            watch(outcome, inject(outcome, nodes, {}), started, nodes.folder)
            blamed = blamed_by(nodes.folder)
            outcome.said = ", ".join(f"node{n}: rank {r}" for n, r in sorted(blamed.items())) or "nobody"
            outcome.right_place = bool(blamed) and set(blamed.values()) <= ranks_of(outcome)
        finally:
            afterwards(outcome, nodes)
            end(started, str(nodes.folder))
    return outcome


def end(started: list[subprocess.Popen[bytes]], folder: str) -> None:
    """The torchruns, and the ranks that one of them left: they are known by the trial's folder in their environment."""
    for process in started:
        process.terminate()
    deadline = time.time() + 5.0
    while time.time() < deadline and any(process.poll() is None for process in started):
        time.sleep(0.1)
    _marked.kill("FAULT_DIR", folder)
    for process in started:
        process.kill()
        process.wait(30)


def watch(outcome: Outcome, began: float, started: list[subprocess.Popen[bytes]], folder: Path) -> None:
    """Until one of them ends or prints an error. The dead node's own is not there to say anything."""
    (fault,) = faults_of(outcome)
    numbers = [n for n in range(1, fault.count + 1) if not (fault.off and n in (outcome.node, *fault.also))]
    cut = STAY_SECONDS if fault.goes_on else PLAIN_SECONDS
    while time.time() < began + cut and outcome.noticed is None:
        gone = any(started[n - 1].poll() is not None for n in numbers)
        said = any(b"Error" in (folder / f"torchrun-{n}.log").read_bytes() for n in numbers)
        outcome.noticed = round(time.time() - began, 1) if gone or said else None
        time.sleep(0.2)
    time.sleep(5.0 if outcome.noticed is not None else 0.0)


def blamed_by(folder: Path) -> dict[int, int]:
    """The rank in each node's "Root Cause (first observed failure)"."""
    found = {}
    for number, path in enumerate(sorted(folder.glob("torchrun-*.log")), 1):
        text = path.read_text(errors="replace")
        match = re.search(r"Root Cause.*?rank\s*:\s*(\d+)", text, re.DOTALL)
        if match:
            found[number] = int(match.group(1))
    return found


def ranks_of(outcome: Outcome) -> set[int]:
    """Whom a right word may blame: the rank, or any of the node where the fault is the node's."""
    (fault,) = faults_of(outcome)
    nodes = NODES if fault.everywhere else (outcome.node, *fault.also)
    of_nodes = {(n - 1) * outcome.per_node + local for n in nodes for local in range(outcome.per_node)}
    return {outcome.rank} if fault.rank and not fault.everywhere else of_nodes
