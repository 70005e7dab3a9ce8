"""The controller's side of a run: it checks, prepares, starts the supervisors, and then only watches.

Once the supervisors run, nothing depends on this process. Until then it undoes a failed or interrupted start: a run
that never started leaves no process and no folder.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets as random_source
import socket
import time
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, replace
from typing import Any

from allranks import prepare
from allranks.core import (
    BLOCK,
    UNKNOWN,
    Blocked,
    CouldNotTell,
    Event,
    Finding,
    Node,
    Where,
    run_events,
    stopping_launch,
    told,
)
from allranks.core.events import Content
from allranks.core.net import over_there
from allranks.core.untrusted import text
from allranks.launch import jobs
from allranks.launch.jobs import Job, NodePaths
from allranks.node import bundle
from allranks.node.redaction import Redactor
from allranks.runs import checkpoint_delivery, engine_start, index, launch_record, probe_phase
from allranks.runs.cleanup import clean_each, stop_direct
from allranks.runs.inspection import Inspection, Tell, at_home, inspect, inspect_inside, python_of
from allranks.runs.ports import freed
from allranks.runs.run_id import new_run_id
from allranks.runs.run_secrets import secret_values
from allranks.spec import Run
from allranks.transport import NodeProgram, Nodes, Outcome, ProgramFailed, Unreachable

START_SECONDS = 30.0
ORDER_SECONDS = 130.0
"""Longer than `order` itself waits for the engine and for the supervisor (`node/engine_orders.py`)."""

SUBMITTED = "submitted.json"
"""A file in the head's run directory once every supervisor has been started. If missing, the start was interrupted."""


@dataclass(frozen=True)
class Submitted:
    """A run whose supervisors have been started."""

    run_id: str
    run: Run
    inspection: Inspection


class StoppedBefore(Blocked):
    """The launch was stopped before it began. `findings` forbid the launch; `inspection` is everything that was seen.
    If not `acceptable`, something that the run needs could not be made."""

    def __init__(self, inspection: Inspection, findings: list[Finding], acceptable: bool = True):
        super().__init__("\n".join(str(f.saw) for f in findings))
        self.inspection, self.findings, self.acceptable = inspection, findings, acceptable
        if all(f.verdict != BLOCK for f in findings):
            self.exit_code = CouldNotTell.exit_code


class Before:
    """The events before the launch with their times, kept for the keeper's journal."""

    def __init__(self, tell: Tell):
        self.events: list[Event] = []
        self.tell = tell

    def phase(self, phase: str) -> None:
        self.say(run_events.Phase(phase=phase, why=""))

    def step(self, node: str, what: str) -> None:
        """Shows the current step on a node. It is not written to the journal."""
        self.tell(told(run_events.Preparing(what=what), node))

    def silent(self, nodes: list[str], seconds: float) -> None:
        """Shows which nodes have not answered yet. It is not written to the journal."""
        self.tell(told(run_events.Silent(nodes=nodes, seconds=seconds)))

    def say(self, content: Content) -> None:
        event = told(content)
        self.events.append(event)
        self.tell(event)

    def as_json(self) -> list[dict[str, Any]]:
        return [event.as_json() for event in self.events]


async def submit(
    nodes: Nodes, run: Run, tell: Tell, probe: bool | None = None, run_id: str | None = None
) -> Submitted:
    """Takes a run from the inspection to started supervisors. Raises StoppedBefore, BadInput, Unreachable and
    ProgramFailed.

    `probe`: whether to probe the network first (None: `probe_phase.takes_place`). `run_id`: that of a queued job.
    """
    secrets = secret_values(run)
    before = Before(tell)
    before.phase("check")
    inspection = await freed(nodes, run, await inspect(nodes, run, before.silent), before.say)
    for finding in inspection.findings:
        before.say(finding)
    stopping = inspection.stopping()
    if stopping:
        raise StoppedBefore(inspection, stopping)
    before.phase("prepare")
    run_id = run_id or new_run_id(run.name)
    starting = Starting(nodes, inspection, run_id, before, secrets)
    index.remember_starting(run_id, run)
    me = asyncio.current_task()
    assert me is not None
    calling_off = asyncio.ensure_future(
        launch_record.called_off(lambda: bool(index.entry(run_id).get("called_off")), me)
    )
    try:
        await starting.prepare()
        if probe_phase.takes_place(run, probe):
            await starting.probe()
        await starting.start()
    except BaseException:
        # Also after Ctrl-C: a run that did not start leaves nothing behind. If something cannot be undone, the run
        # stays in the index.
        if await asyncio.shield(starting.undo()):
            index.forget(run_id)
        if calling_off.done():
            raise Blocked(f"{run_id}: allranks stop called its start off") from None
        raise
    finally:
        calling_off.cancel()
    return Submitted(run_id, run, starting.inspection)


class Starting:
    """Takes a run from a passed inspection to running supervisors, or undoes the start."""

    def __init__(
        self, nodes: Nodes, inspection: Inspection, run_id: str, before: Before, secrets: Mapping[str, str]
    ):
        self.nodes, self.inspection, self.run_id, self.before = nodes, inspection, run_id, before
        self.run, self.plan = inspection.run, inspection.plan
        self.key = random_source.token_hex(32)
        self.touched = False
        self.secrets = secrets
        self.prepared = prepare.Prepared(nodes)
        self.engine: engine_start.EngineStart | None = None
        self.under_way: set[asyncio.Future[Any]] = set()
        self.not_undone = False

    async def prepare(self) -> None:
        """Makes containers and environments on every node, and judges their contents as the hosts were judged."""
        facts, step = self.inspection.facts, self.before.step
        await self._bring_checkpoint()
        try:
            await prepare.make_ready(self.prepared, self.run, facts, self.run_id, step)
            if self.prepared.changed_environment:
                await self._look_inside()
            await self._compile()
        except prepare.NotReady as error:
            raise self._stopped(error.findings) from None

    async def _bring_checkpoint(self) -> None:
        """Handles `resume: node:/path`: copies the checkpoint, and continues with a path that the nodes can read."""
        if over_there(self.run.resume) is None:
            return
        self.touched = True  # the copy is in the run's folder
        args = self.nodes, self.run_id, self.inspection.facts, self.before.step
        self.run = await checkpoint_delivery.delivered(self.run, *args)
        self.plan = replace(self.plan, run=self.run)
        self.inspection = replace(self.inspection, run=self.run, plan=self.plan)

    async def _compile(self) -> None:
        """Compiles DeepSpeed's operators and tokenizes the dataset, with the ranks' own Python and environment."""
        jobs = {job.node.name: job.job for job in self._jobs(keeper_port=0)}
        places, step = self._places(), self.before.step
        python = {name: str(job["argv"][0]) for name, job in jobs.items()}
        env = {name: {**places[name].secrets, **self.secrets, **job["env"]} for name, job in jobs.items()}
        await prepare.compile_ops(self.prepared, self.run, self.plan.deepspeed, python, env, step)
        await prepare.tokenize(self.prepared, self.run, self.plan.trainer, python, env, step)

    async def _look_inside(self) -> None:
        seen = {(f.id, f.where, f.saw) for f in self.inspection.findings}
        self.inspection = await inspect_inside(self.inspection, self.prepared.inside, self.prepared.python)
        self.plan = self.inspection.plan
        for finding in self.inspection.findings:
            if (finding.id, finding.where, finding.saw) not in seen:
                self.before.say(finding)
        stopping = self.inspection.stopping()
        if stopping:
            raise StoppedBefore(self.inspection, stopping)

    async def probe(self) -> None:
        """Probes the network in the same way as training uses it. The ranks get the interface and the fabric that
        passed."""
        self.before.phase("probe")
        pythons = {name: one.python for name, one in self._places().items()}
        probed = await probe_phase.probe_run(self.prepared.inside, self.run, self.plan, pythons)
        self.plan = probe_phase.with_environment(self.plan, probed)
        self.inspection = replace(self.inspection, plan=self.plan)
        against = stopping_launch(probed.findings, self.run.accept)
        if against:
            raise self._stopped(list(probed.findings), against)
        for finding in probed.findings:
            self.before.say(finding)

    def _stopped(self, findings: list[Finding], stopping: list[Finding] | None = None) -> StoppedBefore:
        """`findings` belong to this phase; `stopping` are those that forbid the launch. Without `stopping` all of
        them do, and the user cannot accept them, because something that the run needs is missing."""
        for finding in findings:
            self.before.say(finding)
        seen = replace(self.inspection, findings=(*findings, *self.inspection.findings))
        return StoppedBefore(
            seen, findings if stopping is None else stopping, acceptable=stopping is not None
        )

    async def start(self) -> None:
        jobs = self._jobs(keeper_port=self.run.network.keeper_port)
        self.engine = engine_start.made(self.run, self.plan, self.run_id, self.nodes, self.prepared.inside)
        self.touched = True
        self.before.phase("launch")
        places = self._places()
        raise_first(await self.nodes.each(lambda node, program: self._put(node, program, places[node.name])))
        try:
            await self._start_all(jobs)
        except engine_start.EngineFailed as error:
            raise self._stopped([error.finding]) from None
        except (Unreachable, ProgramFailed) as error:
            raise self._stopped([supervisor_not_started(error)]) from None

    async def _start_all(self, jobs: list[Job]) -> None:
        """Starts the supervisors. The head comes first, since the others need its keeper's port. An engine starts
        them in the same order, by orders."""
        if self.engine is not None:
            await self.engine.begin(self._places())
        jobs[0] = self._with_before(jobs[0])
        head = self.run.cluster.head
        inside = self.prepared.inside
        answer = await self._start(inside[head.name], jobs[0])
        keeper = answer.get("keeper") or {}
        port, rendezvous = int(keeper.get("port") or 0), int(keeper.get("rendezvous_port") or 0)
        others = {job.node.name: job for job in self._jobs(port, rendezvous or None)[1:]}

        async def start_other(node: Node, program: NodeProgram) -> Any:
            return await self._start(program, others[node.name]) if node.name in others else None

        raise_first(await inside.each(start_other))
        if self.engine is not None:
            await self.engine.end()
        index.remember(self.run_id, self.run)
        mark = {"files": {SUBMITTED: {"at": time.time()}}}
        with contextlib.suppress(Unreachable, ProgramFailed):  # the run continues without it
            await inside[head.name].call("put", self.run_id, stdin=mark, timeout_seconds=START_SECONDS)

    def _jobs(self, keeper_port: int, rendezvous: int | None = None) -> list[Job]:
        """The jobs of all nodes. `rendezvous` is the port that the head has reserved."""
        port = self.run.network.port if rendezvous is None else rendezvous
        return jobs.make(self.run, self.plan, self.run_id, self._places(), port, keeper_port)

    def _places(self) -> dict[str, NodePaths]:
        places = {}
        for facts in self.inspection.facts:
            home = str(facts.get("system.allranks_home"))
            activated = self.inspection.activated.get(facts.node, prepare.Activated(python_of(self.run)))
            python = self.prepared.python.get(facts.node) or activated.python
            python = at_home(python, facts)
            code = self.prepared.code.get(facts.node)
            plain, hidden = activated.plain(self.run.secrets), activated.hidden(self.run.secrets)
            user = text(facts.get("system.user.home"))
            places[facts.node] = NodePaths(home, bundle.path_in(home), python, code, plain, hidden, user)
        return places

    def _with_before(self, job: Job) -> Job:
        told = {"before": self.before.as_json(), "sent_at": time.time(), "submitted": SUBMITTED}
        return replace(job, job={**job.job, "keep": {**job.job["keep"], **told}})

    async def _put(self, node: Node, program: NodeProgram, places: NodePaths) -> Any:
        described = {"file": self.run.file, "text": self.run.text, "from": socket.gethostname()}
        redactor = Redactor(self._secrets_of(node).values())
        files: dict[str, Any] = redactor.json({"run.json": described, "plan.json": self.plan.as_json()})
        if node.name in self.prepared.containers:
            files[f"nodes/{node.name}/container.json"] = self.prepared.containers[node.name].as_json()
        if self.engine is not None:
            files.update(self.engine.files(node, places))
        call = program.call("put", self.run_id, stdin={"files": files}, timeout_seconds=START_SECONDS)
        return await self._to_its_end(call)

    def _secrets_of(self, node: Node) -> dict[str, str]:
        activated = self.inspection.activated.get(node.name)
        return {**(activated.hidden(self.run.secrets) if activated else {}), **self.secrets}

    async def _start(self, program: NodeProgram, job: Job) -> dict[str, Any]:
        """Starts one supervisor. The job and the key go by standard input; the node writes job.json itself."""
        wanted = {
            "job": dict(job.job),
            "key": self.key,
            "is_put": True,
            "secrets": self._secrets_of(job.node),
        }
        if self.engine is not None:
            words, seconds = ("order", self.run_id, job.node.name), ORDER_SECONDS
            ordering = program.call(*words, stdin=wanted, timeout_seconds=seconds)
            return await self.engine.order(ordering, job.node)
        return await self._to_its_end(
            program.call("start", self.run_id, job.node.name, stdin=wanted, timeout_seconds=START_SECONDS)
        )

    async def _to_its_end(self, call: Coroutine[Any, Any, Any]) -> Any:
        """Waits for a call that Ctrl-C must not interrupt: otherwise the node would continue with it while the start
        is undone."""
        task = asyncio.ensure_future(call)
        self.under_way.add(task)
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
        return await asyncio.shield(task)

    async def undo(self) -> bool:
        """Stops everything that was started and removes the run's folders. Returns False if a node could not be
        reached; a finding reports that."""
        if self.engine is not None:
            await self.engine.cancel()
        if self.under_way:
            await asyncio.wait(self.under_way, timeout=START_SECONDS)
        if self.touched:
            await self._undo_start()
        for outcome in await prepare.undo(self.prepared):
            if isinstance(outcome, prepare.NotReady):
                self._not_undone(outcome.findings[0].where.node, str(outcome))
            elif outcome.error is not None:
                self._not_undone(outcome.node.name, str(outcome.error))
        return not self.not_undone

    async def _undo_start(self) -> None:
        inside = self.prepared.inside
        stopped = await stop_direct(inside, self.run_id, START_SECONDS)
        for outcome in [*stopped, *await clean_each(inside, self.run_id)]:
            if outcome.error is not None:
                self._not_undone(outcome.node.name, str(outcome.error))

    def _not_undone(self, node: str | None, why: str) -> None:
        self.not_undone = True
        finding = Finding(
            id="start-not-undone",
            verdict="warn",
            where=Where(node=node),
            saw=f"the start could not be undone: {why}",
            why="a supervisor, a container or a folder of this run may be left there.",
            fix=f"when the node answers: allranks stop {self.run_id}, then allranks clean --files {self.run_id}",
        )
        self.before.say(finding)


def supervisor_not_started(error: Unreachable | ProgramFailed) -> Finding:
    """The finding for a node on which the launch failed. It is `unknown` if the node fell silent, since its
    supervisor may have started."""
    silent = isinstance(error, Unreachable)
    what = "it fell silent while its supervisor was started" if silent else "its supervisor did not start"
    return Finding(
        id="supervisor-not-started",
        verdict=UNKNOWN if silent else BLOCK,
        where=Where(node=error.node),
        saw=f"{what}: {error.text}",
        expected="a supervisor on every node",
        why="torchrun needs every node, so allranks stops what it had started on the others.",
        fix=f"fix the error, run allranks check FILE, and start the run again; {error.node} can also be left "
        "out of `nodes`.",
    )


def raise_first(outcomes: list[Outcome]) -> None:
    """Raises the first error: a launch needs every node."""
    for outcome in outcomes:
        if outcome.error is not None:
            raise outcome.error
