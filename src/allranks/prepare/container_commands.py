"""Runs commands inside a node's container, where the training environment is: `docker exec` over the connection to the
node."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from allranks.prepare import apptainer, engine
from allranks.transport import Completed, NodeProgram, Nodes, Transport

RECORDED = {
    "engine": re.compile(r"docker|podman|apptainer"),
    "container": re.compile(r"[0-9a-f]{12,64}"),
    "name": re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}"),
}
"""Patterns for those fields of a record that become words of a command. They are checked because the training script
can write to the run directory from inside its container, while the command runs on the node, outside of it."""


@dataclass(frozen=True)
class Contained:
    """The record of one node's container in the run directory (`nodes/<node>/container.json`).

    `container` is its id. An apptainer instance has no id, so it is the instance's name.
    """

    engine: str
    container: str
    name: str
    node: str
    home: str
    run: str
    image: str
    reference: str
    description: str
    python: str = "python3"
    made: bool = field(default=True, compare=False)

    def as_json(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if name != "made"}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Contained | None:
        """None if `data` is not what `as_json` wrote, for example if its engine is unknown."""
        names = [name for name in cls.__dataclass_fields__ if name != "made"]
        if not all(isinstance(data.get(name), str) and data[name] for name in names):
            return None
        # An apptainer instance has no id: its name stands for it.
        as_id = "name" if data["engine"] == "apptainer" else "container"
        patterns = {**RECORDED, "container": RECORDED[as_id]}
        if not all(pattern.fullmatch(data[name]) for name, pattern in patterns.items()):
            return None
        return cls(**{name: data[name] for name in names}, made=False)

    def execute(self, argv: Sequence[str]) -> list[str]:
        if self.engine == "apptainer":
            return apptainer.execute(self.container, argv, self.home)
        said = {"env": f"ALLRANKS_HOME={self.home}"}
        return engine.execute(self.engine, self.container, tuple(argv), **said)

    def execute_on_own_gpus(self, argv: Sequence[str]) -> list[str]:
        """The same with the GPUs that a scheduler gave to the caller: the container itself sees all of them."""
        words = self.execute(argv)
        if self.engine == "apptainer":
            return ["sh", "-c", apptainer.OWN_GPUS, "sh", *words]
        at = words.index(self.container)
        return [*words[:at], f"--env={GPUS}", *words[at:]]  # without a value: the caller's, if it has one


GPUS = "CUDA_VISIBLE_DEVICES"


class ContainedTransport:
    """Commands in a node's container. Closing it closes the node's own connection."""

    def __init__(self, outside: Transport, contained: Contained):
        self.outside, self.contained = outside, contained
        self.node = outside.node

    async def run(
        self, argv: Sequence[str], *, stdin: bytes = b"", timeout_seconds: float = 60.0
    ) -> Completed:
        words = self.contained.execute(argv)
        done = await self.outside.run(words, stdin=stdin, timeout_seconds=timeout_seconds)
        if done.code == 0 or not stopped(done):
            return done
        # It ended by itself, idle while another node was still being prepared.
        await self.outside.run(engine.begin(self.contained.engine, self.contained.container))
        return await self.outside.run(words, stdin=stdin, timeout_seconds=timeout_seconds)

    def stream(self, argv: Sequence[str], *, stdin: bytes = b"") -> AsyncGenerator[bytes, None]:
        return self.outside.stream(self.contained.execute(argv), stdin=stdin)

    async def close(self) -> None:
        await self.outside.close()


def stopped(done: Completed) -> bool:
    """Whether the engine refused because the container does not run; docker's words, then podman's."""
    return b"is not running" in done.err or b"can only create exec sessions on running containers" in done.err


def entered(nodes: Nodes, containers: Mapping[str, Contained]) -> Nodes:
    """The same nodes, those in `containers` reached inside of them."""
    programs = dict(nodes.programs)
    for name, contained in containers.items():
        transport = ContainedTransport(programs[name].transport, contained)
        programs[name] = NodeProgram(transport, contained.python)
    return Nodes(programs, nodes.nodes)
