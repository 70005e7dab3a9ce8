"""Making a container where it fails, is cut, or another start of the same run file has made its own first."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from allranks.core import BadInput
from allranks.prepare import containers
from allranks.prepare.container_commands import Contained
from allranks.prepare.description import Description
from allranks.prepare.failures import NotReady
from allranks.prepare.images import unsaid
from allranks.spec import loads
from allranks.transport import Completed, NodeProgram, Unreachable

WANTED = Description(
    "docker", "image@sha256:01", "allranks-lora-node-0-1", "node-0", "/home/u/.allranks", "0:0"
)


class Engine:
    """docker on one node, with at most one container. `cut` is what befalls `docker run` and after how many
    looks the daemon has made the container all the same."""

    def __init__(self, there: str | None = None, cut: BaseException | None = None, after: int = 0):
        self.there, self.cut, self.after = there, cut, after
        self.making: str | None = None
        self.removed: list[str] = []
        self.node, self.transport = "node-0", self

    async def run(
        self, argv: Sequence[str], *, stdin: bytes = b"", timeout_seconds: float = 60.0
    ) -> Completed:
        words = list(argv)
        if words[1] == "run":
            return self._run(next(w for w in words if w.startswith("--label=org.allranks.run=")))
        if words[1:3] == ["container", "inspect"]:
            return self._inspect()
        assert words[1] == "rm", words
        self.removed.append(self.there or "")
        self.there = None
        return Completed(0, b"", b"")

    def _run(self, label: str) -> Completed:
        run = label.rpartition("=")[2]
        if self.cut is not None:
            self.making = run
            raise self.cut
        if self.there is not None:
            return Completed(125, b"", b"docker: Error: Conflict. The container name is already in use")
        self.there = run
        return Completed(125, b"", b"docker: Error: could not select device driver")

    def _inspect(self) -> Completed:
        if self.making is not None:
            self.after -= 1
            if self.after < 0:
                self.there, self.making = self.making, None
        if self.there is None:
            return Completed(1, b"[]", b"Error: No such container: allranks-lora-node-0-1")
        labels = {"home": WANTED.home, "node": WANTED.node, "run": self.there}
        about: dict[str, Any] = {"Labels": {f"org.allranks.{name}": value for name, value in labels.items()}}
        return Completed(0, json.dumps([{"Id": "ab" * 32, "Config": about}]).encode(), b"")


def make(engine: Engine) -> None:
    contained = Contained("docker", WANTED.name, WANTED.name, "node-0", WANTED.home, "lora-2", "i", "r", "d")
    asyncio.run(containers.make(cast(NodeProgram, engine), WANTED, contained, "lora-2", unsaid))


def test_the_container_of_another_start_of_the_same_file_stays() -> None:
    engine = Engine(there="lora-1")
    with pytest.raises(NotReady):
        make(engine)
    assert (engine.there, engine.removed) == ("lora-1", [])


@pytest.mark.parametrize(
    ("said", "fix"),
    [
        ('exec: "python3": executable file not found in $PATH', "environment: {python"),
        ("invalid mount config: bind source path does not exist: /data", "make the folder"),
        ("no such file or directory", "make the folder"),
    ],
)
def test_why_a_container_is_not_made(said: str, fix: str) -> None:
    wanted: Any = SimpleNamespace(engine="docker", node="node-1", python="python3")
    (finding,) = containers.not_made(wanted, Completed(125, b"", said.encode())).findings
    assert finding.fix.startswith(fix)


@pytest.mark.parametrize(
    ("engine", "mount", "refused"),
    [
        ("apptainer", "/data/a,b:/data", True),
        ("apptainer", "/data/a:/data:ro,z", False),
        ("docker", "/data/a,b:/data", False),
    ],
)
def test_a_comma_in_a_folders_name_is_refused_for_apptainer(engine: str, mount: str, refused: bool) -> None:
    container = {"image": "x.sif", "engine": engine, "mounts": [mount]}
    run = loads(
        json.dumps({"nodes": "localhost", "container": container, "train": {"command": ["train.py"]}})
    )
    with pytest.raises(BadInput, match="has a comma") if refused else contextlib.nullcontext():
        containers.refuse_extra(run)


def test_a_container_that_could_not_start_is_removed() -> None:
    engine = Engine()
    with pytest.raises(NotReady):
        make(engine)
    assert engine.removed == ["lora-2"]


@pytest.mark.parametrize("after", [0, 2], ids=["made", "made later"])
@pytest.mark.parametrize(
    "cut",
    [asyncio.CancelledError(), Unreachable("node-0", "timeout", "no answer")],
    ids=["Ctrl-C", "time limit"],
)
def test_a_container_whose_making_was_cut_is_removed(
    monkeypatch: pytest.MonkeyPatch, cut: BaseException, after: int
) -> None:
    monkeypatch.setattr(containers, "LATE_SECONDS", 0.0)
    engine = Engine(cut=cut, after=after)
    with pytest.raises(type(cut)):
        make(engine)
    assert (engine.there, engine.removed) == (None, ["lora-2"])
