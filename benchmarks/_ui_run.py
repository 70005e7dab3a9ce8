"""A run that nobody trains: a journal of any size for the live page, and beats that go on being written to it."""

from __future__ import annotations

import json
import math
import os
import random
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from allranks.node.files import write_json
from allranks.node.paths import RunDirectory
from allranks.node.processes import identify, record_of

VARIANTS = 16
GPUS = 8


@dataclass
class Shape:
    """`ranks` in nodes of eight; `beat` seconds between two heartbeats of a rank, `step` seconds a step."""

    ranks: int
    steps: int
    beat: float
    step: float

    @property
    def each(self) -> int:
        """Steps a beat."""
        return max(1, round(self.beat / self.step))


class SyntheticRun:
    """A run folder whose keeper is this process, so that who follows it waits for more."""

    def __init__(self, run_id: str, shape: Shape):
        self.id, self.shape = run_id, shape
        self.directory = RunDirectory(run_id)
        self.random = random.Random(7)
        self.beats = 0
        self.began = time.time() - shape.steps * shape.step
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._go_on, daemon=True)

    def create(self) -> int:
        """Writes the folder, with all steps so far; the journal's bytes."""
        shape, directory = self.shape, self.directory
        directory.create(node="node-0", keeper=True)
        ranks = [{"rank": r, "node": f"node-{r // GPUS}", "local_rank": r % GPUS} for r in range(shape.ranks)]
        plan = {"ranks": ranks, "trainable_parameters": 28_032, "total_parameters": 306_256}
        write_json(f"{directory.root}/plan.json", plan)
        write_json(directory.keeper.identity, {"process": record_of(identify("node-0", self.id)), "port": 0})
        state = {
            "id": self.id,
            "name": "synthetic",
            "state": "running",
            "step": shape.steps,
            "started_at": self.began,
        }
        write_json(directory.keeper.state, {**state, "nodes": [], "findings": []})
        with open(directory.keeper.journal, "w", encoding="utf-8") as file:
            file.writelines(self.starts())
            while self.beats * shape.each < shape.steps:
                file.writelines(self.next_beats())
        return Path(directory.keeper.journal).stat().st_size

    def starts(self) -> Iterator[str]:
        yield line(self.began, "phase", "node-0", None, {"phase": "watch"})
        for rank in range(self.shape.ranks):
            yield line(
                self.began,
                "start",
                f"node-{rank // GPUS}",
                rank,
                {"pid": 1000 + rank, "local_rank": rank % GPUS},
            )

    def next_beats(self) -> Iterator[str]:
        """One beat of each rank, and now and then a sample of each node and a save."""
        shape, first = self.shape, self.beats * self.shape.each + 1
        steps = range(first, first + shape.each)
        at = self.began + (steps[-1]) * shape.step
        rows = [self.rows(steps, lead=False) for _ in range(VARIANTS)]
        lead = self.rows(steps, lead=True)
        middle = f'"phase":"training","step":{steps[-1]},"total_steps":{4 * shape.steps},'
        for rank in range(shape.ranks):
            said = lead if rank == 0 else rows[rank % VARIANTS]
            memory = f'"rss_bytes":{3_000_000_000 + 7919 * rank},"gpu_bytes":{61_000_000_000 + 9973 * rank}'
            yield (
                f'{{"at":{at + rank * 1e-4:.4f},"kind":"beat","node":"node-{rank // GPUS}","rank":{rank},'
                f'"data":{{{middle}"steps":{said},{memory}}}}}\n'
            )
        if self.beats % 8 == 0:
            for node in range(-(-shape.ranks // GPUS)):
                gpus = [
                    {"uuid": f"GPU-{node}-{n}", "index": n, "utilization": 90 + n, "temperature": 55 + n}
                    for n in range(8)
                ]
                yield line(at, "sample", f"node-{node}", None, {"gpus": gpus, "cpu": {"busy": 0.2}})
        if self.beats % 50 == 49:
            yield line(at, "saved", "node-0", 0, {"step": steps[-1], "path": "output/x", "seconds": 0.4})
        self.beats += 1

    def rows(self, steps: range, lead: bool) -> str:
        found = []
        for step in steps:
            took = self.shape.step * (1 + 0.05 * self.random.random())
            wait, rate = took * 0.03 * self.random.random(), 1e-4 / (1 + step / 3000)
            loss, norm = "null", ""
            if lead:
                loss = f"{1.2 + 2.5 * math.exp(-step / 2000) + self.random.gauss(0, 0.05):.4f}"
                norm = f",{0.3 + 0.2 * self.random.random():.4f}"
            found.append(f"[{step},{loss},{took:.4f},{wait:.4f},4096,{rate:.4e},{took * 0.8:.4f}{norm}]")
        return f"[{','.join(found)}]"

    # ---- going on ----

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._over.set()
        if self._thread.is_alive():
            self._thread.join(30)

    def _go_on(self) -> None:
        """The beats of all ranks, spread over each interval as those of a real run are."""
        parts = 20
        self.began = time.time() - (self.beats + 1) * self.shape.each * self.shape.step
        with open(self.directory.keeper.journal, "a", encoding="utf-8") as file:
            while not self._over.is_set():
                lines = list(self.next_beats())
                size = -(-len(lines) // parts)
                for first in range(0, len(lines), size):
                    file.writelines(lines[first : first + size])
                    file.flush()
                    if self._over.wait(self.shape.beat / parts):
                        return


def line(at: float, kind: str, node: str, rank: int | None, data: dict) -> str:
    return json.dumps({"at": at, "kind": kind, "node": node, "rank": rank, "data": data}) + "\n"


def cpu_seconds(pid: int) -> float:
    """Of a process, without its children."""
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def children(pid: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        found += [int(word) for word in (task / "children").read_text().split()]
    return found
