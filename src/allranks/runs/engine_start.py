"""Starts the supervisors with a launcher's own program: its command runs on the head, then each node gets its order."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine, Mapping
from typing import Any

from allranks.core import Finding, Node
from allranks.launch import starting
from allranks.launch.jobs import NodePaths
from allranks.plan import Plan
from allranks.prepare.container_commands import ContainedTransport
from allranks.spec import Run
from allranks.spec.launchers import Launcher
from allranks.transport import Nodes, ProgramFailed, Unreachable
from allranks.transport.base import Transport
from allranks.transport.local import LocalTransport

LAST_WORDS_SECONDS = 3.0
"""If a node has no supervisor, the engine gets so much time to report the reason."""

TAKING_SECONDS = 5.0
"""Time from an order to a running supervisor: 0.3 s on an idle machine, 2 s on a machine with a load of 15."""


class EngineFailed(Exception):
    """The engine did not start every supervisor; `finding` has the reason."""

    def __init__(self, finding: Finding):
        super().__init__(finding.saw)
        self.finding = finding


class EngineStart:
    """One launch by an engine. `outside` reaches the nodes themselves, `inside` their training environments."""

    def __init__(self, launcher: Launcher, run: Run, plan: Plan, run_id: str, outside: Nodes, inside: Nodes):
        self.launcher, self.run, self.plan, self.run_id = launcher, run, plan, run_id
        self.outside, self.inside = outside, inside
        self.lines: list[str] = []
        self.task: asyncio.Task[None] | None = None

    def files(self, node: Node, places: NodePaths) -> dict[str, str]:
        """The files that the node's run directory must have before the engine begins."""
        program = self.inside[node.name]
        stay = ["--stay"] if self.launcher.stays else []
        argv = program.argv("start", self.run_id, node.name, "--ordered", *stay)
        if isinstance(program.transport, ContainedTransport):
            argv = program.transport.contained.execute_on_own_gpus(argv)
        return {self.launcher.script_path(node): starting.start_script(argv, places.home)}

    async def begin(self, places: Mapping[str, NodePaths]) -> None:
        """Starts the engine's command on the head. Raises BadInput for a run that it cannot start."""
        scripts = {
            node.name: str(places[node.name].run_directory(self.run_id) / self.launcher.script_path(node))
            for node in self.run.cluster.nodes
        }
        words, stdin = await self._words(starting.starting(self.run, self.plan, scripts))
        head: Transport = self.outside[self.run.cluster.head.name].transport
        if self.launcher.runs_here(self.run):
            head = LocalTransport("this machine")
        self.task = asyncio.ensure_future(self._listen(head, words, stdin))

    async def _words(self, start: starting.Start) -> tuple[list[str], bytes]:
        """The launcher's command and its input. A launcher with `begin` may start another program first."""
        if self.launcher.begin is None:
            assert self.launcher.command is not None
            return starting.headed(self.launcher.command(start)), b""
        try:
            return await self.launcher.begin(start, self.outside, self.run_id)
        except starting.StartFailed as error:
            finding = starting.said(self.launcher, error.node, error.saw, error.fix, [error.text])
            raise EngineFailed(finding) from None

    async def _listen(self, head: Transport, words: list[str], stdin: bytes) -> None:
        """Reads the command's output until the engine has ended. Raises EngineFailed at the first line that reports a
        failure."""
        failed = False
        async for line in head.stream(words, stdin=stdin):
            self.lines.append(line.decode("utf-8", "replace"))
            failed = failed or starting.blamed(self.lines[-1], self.launcher) is not None
            if failed and len(self.lines) > 1 and self._is_settled():
                break
        if failed:
            raise EngineFailed(self._finding())

    def _is_settled(self) -> bool:
        """Whether a line about the failure names its node. If so, no more lines are needed."""
        return self._finding().where.node is not None

    def _finding(self) -> Finding:
        return starting.failure(self.launcher, self.lines, self.run.cluster.nodes, None)

    async def order(self, call: Coroutine[Any, Any, dict[str, Any]], node: Node) -> dict[str, Any]:
        """Waits until one node has taken its order. If the engine itself fails, the wait ends."""
        assert self.task is not None
        ordering = asyncio.ensure_future(call)
        try:
            await asyncio.wait({ordering, self.task}, return_when=asyncio.FIRST_COMPLETED)
            if not ordering.done() and self._failure() is None:
                # The engine has ended without an error: every supervisor took its order, and the answer is on its
                # way.
                await asyncio.wait({ordering})
        except asyncio.CancelledError:
            # `asyncio.wait` does not cancel it. If the order arrived after the start was undone, it would start a
            # supervisor.
            ordering.cancel()
            await asyncio.wait({ordering})
            raise
        failure = self._failure()
        if failure is not None and not ordering.done():
            # If a supervisor has just taken its order, it must have started before it can be stopped.
            await asyncio.wait({ordering}, timeout=TAKING_SECONDS)
            ordering.cancel()
            with contextlib.suppress(asyncio.CancelledError, Unreachable, ProgramFailed):
                await ordering
            raise failure
        try:
            return ordering.result()
        except ProgramFailed as error:
            raise await self._explained(error, node) from None

    def _failure(self) -> BaseException | None:
        return self.task.exception() if self.task is not None and self.task.done() else None

    async def _explained(self, error: ProgramFailed, node: Node) -> Exception:
        """The engine's error about a node without a supervisor, if the engine reports one; else the node's error."""
        if error.answer.get("supervisor") is None and "started nothing here" not in error.text:
            return error
        assert self.task is not None
        await asyncio.wait({self.task}, timeout=LAST_WORDS_SECONDS)
        failure = self._failure()
        if isinstance(failure, EngineFailed):
            return failure
        finding = starting.failure(self.launcher, [*self.lines, error.text], self.run.cluster.nodes, None)
        return EngineFailed(finding)

    async def end(self) -> None:
        """Waits for the end of the command after the last order. Its output can no longer fail the run."""
        if self.task is not None:
            await asyncio.wait({self.task}, timeout=LAST_WORDS_SECONDS)
            await self.cancel()

    async def cancel(self) -> None:
        """Stops listening. Processes that wait for an order on the nodes end when the run's folder is removed."""
        if self.task is not None:
            self.task.cancel()
            with contextlib.suppress(asyncio.CancelledError, Unreachable, EngineFailed):
                await self.task


def made(run: Run, plan: Plan, run_id: str, outside: Nodes, inside: Nodes) -> EngineStart | None:
    """The launch by an engine; None if the controller starts the supervisors itself."""
    launcher = run.launcher
    if launcher.command is None and launcher.begin is None:
        return None
    return EngineStart(launcher, run, plan, run_id, outside, inside)
