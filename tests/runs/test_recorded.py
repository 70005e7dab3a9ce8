"""What a start writes into the run directory for the record: no secret, and the run file as it was read."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from allranks.core import Facts
from allranks.prepare.environment import Activated
from allranks.runs import controller
from allranks.runs.controller import Before, Starting
from allranks.runs.inspection import Inspection
from allranks.spec import load, loads
from allranks.transport import NodeProgram, Nodes

FILE = """
nodes: localhost
secrets: [HF_TOKEN]
train: {command: [train.py, --note, value-of-the-token]}
"""


class Putting:
    """A node that takes files."""

    def __init__(self) -> None:
        self.files: dict[str, Any] = {}

    async def call(self, verb: str, *words: str, stdin: dict[str, Any], timeout_seconds: float) -> None:
        self.files.update(stdin["files"])


def test_run_json_and_plan_json_hold_no_secret_and_the_file_that_was_read(tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    path.write_text(FILE)
    run = load(str(path))
    path.write_text("edited: while it waited in the queue")
    node = run.cluster.head
    plan = SimpleNamespace(as_json=lambda: {"says": ["value-of-the-token", "key-of-the-script"]}, run=run)
    inspection = SimpleNamespace(
        run=run,
        plan=plan,
        facts=[Facts(node.name, 0.0, {"system": {"allranks_home": "/home/u/.allranks"}})],
        activated={
            node.name: Activated("python3", {"MY_API_KEY": "key-of-the-script", "HF_TOKEN": "another"})
        },
    )
    before, secrets = Before(lambda event: None), {"HF_TOKEN": "value-of-the-token"}
    starting = Starting(Nodes({}, {}), cast(Inspection, inspection), "run-1", before, secrets)
    there = Putting()
    asyncio.run(starting._put(node, cast(NodeProgram, there), starting._places()[node.name]))
    written = json.dumps(there.files)
    assert "value-of-the-token" not in written and "key-of-the-script" not in written
    assert there.files["plan.json"] == {"says": ["[redacted]", "[redacted]"]}
    assert there.files["run.json"]["text"] == FILE.replace("value-of-the-token", "[redacted]")


def test_what_prepares_for_the_ranks_has_their_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dataset of a private repository is tokenized with the same token."""
    run = loads("nodes: localhost\nsecrets: [HF_TOKEN]\ntrain: {command: [train.py]}\n")
    node = run.cluster.head
    inspection = SimpleNamespace(
        run=run,
        plan=SimpleNamespace(deepspeed=None, trainer={}),
        facts=[Facts(node.name, 0.0, {"system": {"allranks_home": "/home/u/.allranks"}})],
        activated={node.name: Activated("python3", {"MY_API_KEY": "key-of-the-script"})},
    )
    secrets = {"HF_TOKEN": "value-of-the-token"}
    starting = Starting(
        Nodes({}, {}), cast(Inspection, inspection), "run-1", Before(lambda event: None), secrets
    )
    job = SimpleNamespace(node=node, job={"argv": ["python3"], "env": {"A": "1"}})
    monkeypatch.setattr(starting, "_jobs", lambda keeper_port: [job])
    given: list[Any] = []

    async def kept(*words: Any) -> None:
        given.append(words[4])

    monkeypatch.setattr(controller.prepare, "compile_ops", kept)
    monkeypatch.setattr(controller.prepare, "tokenize", kept)
    asyncio.run(starting._compile())
    assert given == [{node.name: {"MY_API_KEY": "key-of-the-script", **secrets, "A": "1"}}] * 2


@pytest.mark.parametrize("named", [(), ("HF_TOKEN",)], ids=["not named", "named in secrets"])
def test_a_nodes_job_names_what_its_script_exports_and_holds_no_value(named: tuple[str, ...]) -> None:
    from allranks.launch import jobs

    secrets = f"secrets: [{', '.join(named)}]\n" if named else ""
    run = loads(f"nodes: localhost\n{secrets}train: {{command: [train.py]}}\n")
    plan = SimpleNamespace(
        deepspeed=None, ranks=[], environment={"all": {"SET_KEY": "by the run file"}}, trainer={}, run=run
    )
    activated = Activated("python3", {"HF_TOKEN": "of-the-script", "SET_KEY": "of-the-script", "A": "b"})
    plain, hidden = activated.plain(run.secrets), activated.hidden(run.secrets)
    places = jobs.NodePaths("/home/u/.allranks", "", "python3", None, plain, hidden)
    node = run.cluster.head
    env = jobs.environment(cast(Any, plan), node, "/out", places, "run-1")
    assert env["A"] == "b" and env["SET_KEY"] == "by the run file" and "HF_TOKEN" not in env
    assert jobs.secret_names(run, places, env) == ["HF_TOKEN"]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("", None),
        (", experts: leaf", None),
        (", experts: lockstep", "lockstep:8"),
        (", experts: lockstep, experts_at_once: 3", "lockstep:3"),
        (", experts_at_once: 3", None),
    ],
)
def test_the_ranks_are_told_how_experts_are_gathered(said: str, told: str | None) -> None:
    from allranks.launch import jobs
    from allranks.worker import lockstep

    run = loads(f"nodes: localhost\ntrain: {{command: [train.py]{said}}}\n")
    plan = SimpleNamespace(run=run, environment={"all": {}})
    places = jobs.NodePaths("/home/u/.allranks", "", "python3", None)
    env = jobs.environment(cast(Any, plan), run.cluster.head, "/out", places, "run-1")
    assert env.get(lockstep.VARIABLE) == told
    assert lockstep.asked(told) == (int(told.partition(":")[2]) if told else 0)
