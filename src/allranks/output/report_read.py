"""Reads the report's data from a run directory. Missing or damaged parts are listed in `unreadable`, never guessed.

Only the standard library; it only reads files.
"""

from __future__ import annotations

import json
import os
import time
from typing import Any, Dict, Iterator, List, Mapping, Optional

import allranks
from allranks.core.text import natural
from allranks.core.untrusted import number, text
from allranks.output.report_collect import Collector
from allranks.output.report_failure import log_ends
from allranks.output.report_findings import adapter_of, diagnosis_of, lines_of
from allranks.output.report_memory import memory_plan
from allranks.output.report_plan import compare
from allranks.output.report_text import one_line

LARGEST_DOCUMENT = 16 * 2**20
LARGEST_LINE = 4 * 2**20
"""A heartbeat with a thousand steps is 100 KiB. A longer line than this comes from another program, or is damaged."""

MOST_NODES = 4096


def collect(directory: str, collector: Optional[Collector] = None) -> Dict[str, Any]:
    """The input of `render`, as JSON values, from the run directory on the head (or on any node, for its part).

    A caller that has already heard every event (the keeper) passes the `Collector` that got them; then the journal is
    not read again. 1,000 ranks × 10,000 steps are 620 MB of journal and take 33 s to read.
    """
    reader = Reader(directory)
    state = reader.document("keeper", "state.json")
    plan = reader.document("plan.json")
    run_file = reader.document("run.json")
    nodes = reader.nodes()
    if collector is None:
        collector = Collector()
        for event in reader.events(nodes):
            collector.add(event)
    for finding in _objects(state.get("findings")):
        collector.add_finding(finding)
    adapter = adapter_of(collector.adapter) or adapter_of(state.get("adapter"))
    summary, keep = collector.summary(), _keep(nodes)
    can_resume = bool(keep.get("adapter") or keep.get("script_resumes"))
    return {
        "format": 1,
        "version": str(getattr(allranks, "__version__", "")),
        "made_at": time.time(),
        "directory": directory,
        "state": {k: v for k, v in state.items() if k != "findings"},
        "started_at": _earliest(collector.origin, number(state.get("started_at"))),
        "ended_at": number(state.get("ended_at")),
        "last_at": collector.last_at,
        "total_steps": collector.total_steps or state.get("total_steps"),
        "adapter": adapter,
        "pruned": collector.pruned,
        "log_ends": log_ends(reader.document("keeper", "log-ends.json", missing_is_fine=True)),
        "stacks": collector.stacks,
        "story": collector.story.told(),
        "gpus_bytes": collector.samples.gpu_bytes,
        "kernel": collector.kernel,
        "can_resume": can_resume,
        "diagnosis": diagnosis_of(collector.diagnosis) or diagnosis_of(state.get("diagnosis")),
        "findings": collector.findings,
        "phases": _timed(collector, number(state.get("ended_at"))),
        "rank_phases": collector.rank_phases(),
        "charts": collector.charts(),
        "marks": collector.marks,
        "ranks": _with_plan(collector.rank_rows(), plan),
        "summary": summary,
        "settings": collector.settings,
        "plan": compare(plan, keep, collector.settings, summary, adapter, state.get("state")),
        "memory_plan": memory_plan(plan),
        "nodes": nodes,
        "run_file": run_file,
        "events": collector.events,
        "unreadable": reader.unreadable,
    }


class Reader:
    """Reads below one run directory and remembers the parts that could not be read."""

    def __init__(self, directory: str):
        self.directory = directory
        self.unreadable: List[str] = []

    def path(self, *parts: str) -> str:
        return os.path.join(self.directory, *parts)

    def document(self, *parts: str, missing_is_fine: bool = False) -> Dict[str, Any]:
        """A JSON object from a file. If there is none, it is empty, and the reason is kept."""
        try:
            with open(self.path(*parts), "rb") as file:
                text = file.read(LARGEST_DOCUMENT + 1)
            if len(text) > LARGEST_DOCUMENT:
                raise ValueError(f"larger than {LARGEST_DOCUMENT >> 20} MiB")
            data = json.loads(text.decode("utf-8", "replace"))
            if not isinstance(data, dict):
                raise ValueError("not a JSON object")
            return data
        except OSError as error:
            if missing_is_fine and isinstance(error, FileNotFoundError):
                return {}
            reason = error.strerror or str(error)
        except (ValueError, RecursionError) as error:
            reason = str(error)
        self.unreadable.append(f"{'/'.join(parts)}: {one_line(reason, 200)}")
        return {}

    def nodes(self) -> List[Dict[str, Any]]:
        """Each node's job, in the order of node ranks. The values of secrets are never in them."""
        names = sorted(self._names("nodes"), key=natural)[:MOST_NODES]
        found = []
        for name in names:
            job = self.document("nodes", name, "job.json")
            kept = {k: job.get(k) for k in ("node_rank", "cwd", "files", "keep")}
            hidden = lines_of(job.get("secrets"))
            kept["secrets"] = hidden
            for key in ("ranks", "argv"):
                kept[key] = lines_of(job.get(key), 100_000)
            env = job.get("env")
            pairs = env.items() if isinstance(env, dict) else ()
            kept["env"] = {str(k): str(v) for k, v in pairs if str(k) not in hidden}
            found.append({**kept, "node": name})
        return sorted(found, key=lambda node: _order(node.get("node_rank")))

    def events(self, nodes: List[Dict[str, Any]]) -> Iterator[Dict[str, Any]]:
        """The keeper's journal; without one, the journals that each node wrote itself."""
        if os.path.exists(self.path("keeper", "journal.jsonl")):
            yield from self._lines("keeper", "journal.jsonl")
            return
        self.unreadable.append("keeper/journal.jsonl: not here; what the nodes' own journals say is shown")
        for node in nodes:
            name = str(node["node"])
            if os.path.exists(self.path("nodes", name, "journal.jsonl")):
                yield from self._lines("nodes", name, "journal.jsonl")
            for rank in sorted(self._names("nodes", name, "ranks"), key=natural):
                if rank.endswith(".jsonl"):
                    yield from self._lines("nodes", name, "ranks", rank)

    def _names(self, *parts: str) -> List[str]:
        try:
            return os.listdir(self.path(*parts))
        except OSError:
            return []

    def _lines(self, *parts: str) -> Iterator[Dict[str, Any]]:
        damaged = 0
        try:
            with open(self.path(*parts), "rb") as file:
                for line in _whole_lines(file):
                    event = _object(line)
                    if event is None:
                        damaged += 1
                    else:
                        yield event
        except OSError as error:
            self.unreadable.append(f"{'/'.join(parts)}: {error.strerror}")
        if damaged:
            self.unreadable.append(f"{'/'.join(parts)}: {damaged} damaged lines passed over")


def _whole_lines(file: Any) -> Iterator[bytes]:
    """Lines of at most LARGEST_LINE. A longer line becomes an empty one, so that it is counted."""
    while True:
        line = file.readline(LARGEST_LINE)
        if not line:
            return
        if line.endswith(b"\n") or len(line) < LARGEST_LINE:
            yield line
            continue
        while line and not line.endswith(b"\n"):
            line = file.readline(LARGEST_LINE)
        yield b""


def _object(line: bytes) -> Optional[Dict[str, Any]]:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def _objects(values: Any) -> List[Dict[str, Any]]:
    return [v for v in values if isinstance(v, dict)] if isinstance(values, list) else []


def _order(rank: Any) -> float:
    found = number(rank)
    return float("inf") if found is None else found


def _earliest(*moments: Optional[float]) -> Optional[float]:
    return min((m for m in moments if m is not None), default=None)


def _keep(nodes: List[Dict[str, Any]]) -> Dict[str, Any]:
    """The keeper's expectations, from the head's job. They are removed from the jobs, whose commands are shown."""
    kept: Dict[str, Any] = {}
    for node in nodes:
        task = node.pop("keep", None)
        if isinstance(task, dict):
            kept = task
    return kept


def _timed(collector: Collector, ended_at: Optional[float]) -> List[Dict[str, Any]]:
    """Each phase with its seconds: until the next phase, the last one until the run's end."""
    phases = sorted(collector.phases, key=lambda phase: phase["at"])
    for this, following in zip(phases, phases[1:]):  # noqa: RUF007 (pairwise is of Python 3.10)
        this["seconds"] = following["at"] - this["at"]
    if phases:
        end = ended_at or collector.last_at or phases[-1]["at"]
        phases[-1]["seconds"] = max(0.0, end - phases[-1]["at"])
    return phases


def _with_plan(rows: List[Dict[str, Any]], plan: Mapping[str, Any]) -> List[Dict[str, Any]]:
    """The ranks that reported, and those that were planned but never reported."""
    known = {row["rank"]: row for row in rows}
    for entry in _objects(plan.get("ranks")):
        rank = entry.get("rank")
        if isinstance(rank, int) and not isinstance(rank, bool):
            row = known.setdefault(rank, {"rank": rank, "planned_only": True})
            if row.get("node") is None:
                row["node"] = text(entry.get("node"))
            if row.get("local_rank") is None:
                row["local_rank"] = entry.get("local_rank")
    return [known[rank] for rank in sorted(known)]
