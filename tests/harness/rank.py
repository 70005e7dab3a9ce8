"""A rank without torchrun: a Python started as the supervisor's tree would start it, and what it told."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from allranks.core import event_from_json
from allranks.core.events import kinds
from allranks.core.payloads import plan_of
from tests.harness import ROOT, Harness

SOURCE = ROOT / "src"
BEATS = """
def beats(count, kind="beat"):
    '''Waits until so many beats (or events of a kind) stand in this rank's file, on however busy a machine.'''
    import os, time
    path, end = os.environ["ALLRANKS_RANKS_DIR"] + "/rank-0.jsonl", time.monotonic() + 60
    while time.monotonic() < end:
        if os.path.exists(path) and open(path).read().count('"%s"' % kind) >= count:
            break
        time.sleep(0.02)
"""
"""For a script: what it waits for comes from the rank's own thread."""

SITE = "from allranks.worker.activation import activate; activate()\n"


@dataclass
class Told:
    """How a rank ended and what it left: its events, its log, what came out of its first descriptors."""

    code: int
    outside: str
    events: list[dict] = field(default_factory=list)
    log: str = ""

    def all(self, kind: str) -> list[dict]:
        return [event["data"] for event in self.events if event["kind"] == kind]

    def one(self, kind: str) -> dict:
        (data,) = self.all(kind)
        return data

    @property
    def kinds(self) -> list[str]:
        return [event["kind"] for event in self.events if event["kind"] != "beat"]


def undeclared(events: list[dict]) -> list[str]:
    """What ranks told and nobody has declared: kinds, fields, values of another type. They write events by hand."""
    found = []
    for event in events:
        payload = kinds().get(event["kind"])
        known = plan_of(payload).fields if payload is not None else {}
        found += [f"{event['kind']}: no field {name}" for name in event["data"] if name not in known]
        found += event_from_json(event).odd
    return found


class Ranks(Harness):
    """The folders of one node, and ranks started in it."""

    seconds = 60.0

    def __init__(self, root: Path):
        super().__init__(root)
        self.root = root
        for name in ("ranks", "logs", "stacks", "site", "work"):
            (root / name).mkdir()
        (root / "site" / "sitecustomize.py").write_text(SITE)
        self.ranks, self.logs, self.stacks = root / "ranks", root / "logs", root / "stacks"

    def environment(self, rank: int = 0, **more: str | None) -> dict[str, str]:
        env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.root),
            "PYTHONPATH": os.pathsep.join([str(self.root / "site"), str(SOURCE)]),
            "ALLRANKS_RUN_ID": "run-1",
            "ALLRANKS_NODE": "node-0",
            "ALLRANKS_RANKS_DIR": str(self.ranks),
            "ALLRANKS_LOGS_DIR": str(self.logs),
            "ALLRANKS_STACKS_DIR": str(self.stacks),
            "ALLRANKS_BEAT_SECONDS": "0.1",
            "RANK": str(rank),
            "LOCAL_RANK": str(rank),
            "WORLD_SIZE": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        env.update({name: value for name, value in more.items() if value is not None})
        for name in [name for name, value in more.items() if value is None]:
            env.pop(name, None)
        return env

    python = sys.executable
    beats = BEATS

    def start(self, script: str, rank: int = 0, **more: str | None) -> subprocess.Popen:
        path = self.root / "work" / f"train{rank}.py"
        path.write_text(script)
        return self.begin(
            [self.python, str(path)],
            env=self.environment(rank, **more),
            cwd=self.root / "work",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def finish(self, process: subprocess.Popen, rank: int = 0, seconds: float = 120) -> Told:
        try:
            outside, _ = process.communicate(timeout=seconds)
        finally:
            process.kill()
            process.wait()
        events = self.events(rank)
        assert not (wrong := undeclared(events)), wrong
        return Told(process.returncode, outside.decode(), events, self.log(rank))

    def run(self, script: str, rank: int = 0, **more: str | None) -> Told:
        return self.finish(self.start(script, rank, **more), rank)

    def events(self, rank: int = 0) -> list[dict]:
        path = self.ranks / f"rank-{rank}.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def log(self, rank: int = 0) -> str:
        path = self.logs / f"rank-{rank}.log"
        return path.read_text() if path.exists() else ""
