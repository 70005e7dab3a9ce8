"""Makes all nodes ready for a run, all at the same time, or undoes that."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from allranks.core import Facts, Finding, Node
from allranks.prepare import code, containers, dataset, environment, images, ops
from allranks.prepare.container_commands import Contained, entered
from allranks.prepare.failures import NotReady
from allranks.spec import Run
from allranks.transport import NodeProgram, Nodes, Outcome

Say = Callable[[str, str], None]
"""A function that gets a node's name and a description of its current step, at each step that may take long."""


def unheard(node: str, what: str) -> None:
    """A `Say` that ignores its arguments."""


@dataclass
class Prepared:
    """The result of the preparation, as far as it got. By node: `python` is the training environment's Python, `code`
    the folder of the shipped code."""

    nodes: Nodes
    containers: dict[str, Contained] = field(default_factory=dict)
    python: dict[str, str] = field(default_factory=dict)
    code: dict[str, str] = field(default_factory=dict)

    @property
    def inside(self) -> Nodes:
        """The nodes as training sees them."""
        return entered(self.nodes, self.containers)

    @property
    def changed_environment(self) -> bool:
        """Whether the training environment is not the one that the check has looked at."""
        return bool(self.containers or self.python)


async def make_ready(
    prepared: Prepared, run: Run, facts: Sequence[Facts], run_id: str, say: Say = unheard
) -> None:
    """Fills `prepared`. If this raises (NotReady, Unreachable, BadInput), `prepared` still holds everything that was
    made before."""
    if run.container is not None:
        await make_containers(prepared, run, {one.node: one for one in facts}, run_id, say)
    elif run.environment.lock is not None:
        await build_environments(prepared, run, say)
    if run.code is not None:
        await ship_code(prepared, run, say)


async def compile_ops(
    prepared: Prepared,
    run: Run,
    deepspeed: Mapping[str, Any] | None,
    python: Mapping[str, str],
    env: Mapping[str, Mapping[str, str]],
    say: Say = unheard,
) -> None:
    """DeepSpeed's operators on every node, in the training environment that `make_ready` left; `python` and `env`
    are the ranks', by node. One node of each machine compiles at a time: nodes may share the cache."""
    wanted = ops.builders(run, deepspeed)
    if not wanted:
        return
    turns: dict[str, asyncio.Lock] = {}

    async def one(node: Node, program: NodeProgram) -> None:
        async with turns.setdefault(node.address, asyncio.Lock()):
            say(node.name, f"DeepSpeed's operators: {', '.join(name for name, _ in wanted)}")
            await ops.compile_ahead(program, python[node.name], wanted, env[node.name])

    raise_all(await each(prepared.inside, one))


async def tokenize(
    prepared: Prepared,
    run: Run,
    overruled: Mapping[str, Any],
    python: Mapping[str, str],
    env: Mapping[str, Mapping[str, str]],
    say: Say = unheard,
) -> None:
    """The dataset on every node that does not have it yet: first on the head, since the folder may be shared."""
    path = dataset.wanted(run)
    if path is None:
        return
    head = run.cluster.head.name

    async def one(node: Node, program: NodeProgram) -> None:
        if not await dataset.is_there(program, python[node.name], path):
            say(node.name, "tokenizing the dataset")
            await dataset.tokenize(program, python[node.name], run, overruled, env[node.name])

    inside = prepared.inside
    first = Nodes({head: inside[head]}, {head: run.cluster.head})
    for nodes in (first, inside):
        raise_all(await each(nodes, one))


async def build_environments(prepared: Prepared, run: Run, say: Say) -> None:
    lock = environment.lock_text(run)

    async def one(node: Node, program: NodeProgram) -> None:
        say(node.name, f"a virtual environment of {run.environment.lock}")
        python = run.environment.python or "python3"
        prepared.python[node.name] = await environment.build(program, run, lock, python)

    raise_all(await each(prepared.nodes, one))


async def ship_code(prepared: Prepared, run: Run, say: Say) -> None:
    packed = code.pack(run)

    async def one(node: Node, program: NodeProgram) -> None:
        say(node.name, f"{packed.files} files of {run.code}")
        prepared.code[node.name] = await code.send(program, packed)

    raise_all(await each(prepared.nodes, one))


async def make_containers(
    prepared: Prepared, run: Run, facts: Mapping[str, Facts], run_id: str, say: Say
) -> None:
    assert run.container is not None
    nodes, tool, asked = prepared.nodes, run.container.engine, run.container.image
    head = nodes[run.cluster.head.name]
    resolved = None
    if tool != "apptainer":
        resolved = await images.resolve(head, tool, asked, partial(say, head.node))

    async def one(node: Node, program: NodeProgram) -> Contained:
        step = partial(say, node.name)
        if resolved is None:
            image = await images.built(program, asked, step)
        else:
            image = await images.ensure(program, tool, resolved, step)
        wanted = await containers.describe(run, node, program, facts[node.name], image)
        contained = await containers.ready(program, wanted, image, run_id, step)
        prepared.containers[node.name] = contained
        prepared.python[node.name] = contained.python
        return contained

    raise_all(await each(nodes, one))


async def each(nodes: Nodes, work) -> list[Outcome | NotReady]:
    """As `Nodes.each`, with a node's NotReady as its outcome, so that all nodes' findings are told at once."""

    async def guarded(node: Node, program: NodeProgram):
        try:
            return await work(node, program)
        except NotReady as error:
            return error

    outcomes = await nodes.each(guarded)
    return [one.answer if isinstance(one.answer, NotReady) else one for one in outcomes]


def raise_all(outcomes: Sequence[Outcome | NotReady]) -> None:
    """Raises what any node failed with: a node that cannot be reached first, else all findings in one."""
    findings: list[Finding] = []
    for outcome in outcomes:
        if isinstance(outcome, NotReady):
            findings += outcome.findings
        elif outcome.error is not None:
            raise outcome.error
    if findings:
        raise NotReady(findings)


async def undo(prepared: Prepared) -> list[Outcome | NotReady]:
    """Removes the containers that were made now; what was found and used again stays."""

    async def one(node: Node, program: NodeProgram) -> None:
        contained = prepared.containers.get(node.name)
        if contained is not None and contained.made:
            await containers.remove(program, contained)

    return await each(prepared.nodes, one)
