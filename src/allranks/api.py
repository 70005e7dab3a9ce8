"""allranks for programs and notebooks: the command line's own work, with answers and errors as Python objects.

    import allranks

    allranks.check("run.yaml").findings
    run = allranks.run("run.yaml")
    for event in run.watch():
        ...
    run.wait().adapter

Nothing is printed and nothing is asked. Errors of the command line are raised here, with the same text:
`BadInput` (exit code 2 there), `Blocked` and `StoppedBefore` (1), `CouldNotTell` (3), all of them `AllranksError`.
Everything may be called where an event loop runs already, as in a notebook.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from allranks.checks import Standing, standings
from allranks.cli import diagnose_verb, run_verbs
from allranks.cli.common import require_ids
from allranks.cli.inside_loops import apart, done, each
from allranks.core import (
    AllranksError,
    BadInput,
    Blocked,
    CouldNotTell,
    Diagnosis,
    Event,
    Facts,
    Finding,
    Problem,
    diagnosis_from_json,
    finding_from_json,
)
from allranks.core.untrusted import integer, mapping, mappings, number, text
from allranks.plan.result import Plan
from allranks.runs import cleanup, index, inspection
from allranks.runs.allocation import acquire, looking
from allranks.runs.controller import StoppedBefore, submit
from allranks.runs.local_inputs import script_findings
from allranks.spec import Run as RunFile
from allranks.spec import Typed, loads, trainer_yaml
from allranks.spec.runfile import load

__all__ = [
    "AllranksError", "BadInput", "Blocked", "Check", "CouldNotTell", "Diagnosis", "Event", "Finding", "Plan", "Run",
    "RunState", "StoppedBefore", "check", "diagnose", "find_run", "list_runs", "plan", "run",
]  # fmt: skip


# ---- plan, check, run ----


def plan(
    source: str | os.PathLike[str] | Mapping[str, Any],
    *,
    sets: Iterable[str] = (),
    accept: Iterable[str] = (),
    samples: int | None = None,
    price: float | None = None,
) -> Plan:
    """What will run and what it costs, without nodes and without weights.

    `source` is the path of a run file, or its keys as a mapping, whose relative paths begin in the current folder.
    `sets` are `key.key=value` (the value is YAML), `accept` ids of findings that may pass, `samples` the data set's
    size where its files are not here, `price` that of a GPU hour. `Plan.findings` says what is wrong. Raises BadInput
    with every problem of the run file.
    """
    described = read(source, sets, accept)
    planned = apart(lambda: inspection.planned(described, samples=samples, price=price))
    found = (*described.notes, *planned.findings, *script_findings(described))
    return replace(planned, findings=found)


@dataclass(frozen=True)
class Check:
    """The result of a check. `passes`: nothing stops a launch. `standings` has each node with its verdict, `facts` the
    facts that each node reported, `plan` the plan of the run."""

    findings: tuple[Finding, ...]
    stopping: tuple[Finding, ...]
    standings: tuple[Standing, ...]
    facts: tuple[Facts, ...]
    plan: Plan

    @property
    def passes(self) -> bool:
        return not self.stopping


def check(
    source: str | os.PathLike[str] | Mapping[str, Any],
    *,
    sets: Iterable[str] = (),
    accept: Iterable[str] = (),
    accept_new_hosts: bool = False,
) -> Check:
    """Looks at every node and says what would break a run. Arguments as for `plan`; `accept_new_hosts` pins the host
    keys of nodes that were never seen. A node that cannot be asked is a finding, not an error."""
    described = read(source, sets, accept)

    async def inspected() -> inspection.Inspection:
        found = await looking(described, accept_new_hosts)
        try:
            return await inspection.inspect(found.nodes, found.run)
        finally:
            await found.nodes.close()

    seen = done(inspected())
    judged = standings(seen.facts, seen.plan, seen.run, list(seen.findings))
    return Check(seen.findings, tuple(seen.stopping()), tuple(judged), seen.facts, seen.plan)


def run(
    source: str | os.PathLike[str] | Mapping[str, Any],
    *,
    sets: Iterable[str] = (),
    accept: Iterable[str] = (),
    probe: bool | None = None,
    accept_new_hosts: bool = False,
    tell: Callable[[Event], None] = lambda event: None,
) -> Run:
    """Checks, prepares, probes and launches, and returns once the run no longer needs this process.

    Arguments as for `plan`; `probe` says whether the network is tried first (None: if there are several machines),
    `tell` is called with each event up to the launch, from another thread if an event loop runs. Raises
    StoppedBefore with the findings that forbid the launch. An interrupt undoes what was begun.
    """
    described = read(source, sets, accept)
    if described.launcher.queue is not None and (described.sweep or described.file is None):
        wanted = "a sweep" if described.sweep else "a mapping"
        do = "a run file without sweep, or allranks run FILE"
        raise BadInput(Problem(f"{wanted} with launch: {{with: {described.launch.with_}}}", do=do))
    sets = list(sets)

    async def start() -> str:
        typed = Typed(described.file)
        again = run_verbs.started_again(typed, sets, described.accept, probe) if described.file else ()
        acquired = await acquire(described, tell, accept_new_hosts, again)
        try:
            submitted = await submit(acquired.nodes, acquired.run, tell, probe, acquired.run_id)
        except BaseException:
            await asyncio.shield(acquired.release())
            raise
        await acquired.nodes.close()
        return submitted.run_id

    return Run(done(start()))


def read(
    source: str | os.PathLike[str] | Mapping[str, Any], sets: Iterable[str] = (), accept: Iterable[str] = ()
) -> RunFile:
    """The validated run file. Raises BadInput."""
    if isinstance(source, Mapping):
        try:
            keys = json.loads(json.dumps(dict(source)))
            # JSON writes an emoji as two escapes, and YAML takes each for a character of its own.
            described = loads(trainer_yaml.text(keys), None, list(sets), list(accept))
        except (TypeError, ValueError) as error:
            raise BadInput(
                Problem(f"the run's keys are not JSON: {error}", do="texts, numbers, lists, mappings")
            ) from None
    else:
        described = load(source, list(sets), list(accept))
    require_ids("accept", described.accept)
    return described


# ---- diagnose ----


def diagnose(*paths: str | os.PathLike[str]) -> Diagnosis:
    """The cause that logs name: `paths` are logs, folders of logs, or a run's id. `Diagnosis.cause` is `unproven` where
    they prove nothing, and `benign-noise` where nothing is wrong. Raises BadInput for a path that is none."""
    named = [os.fspath(path) for path in paths]
    if not named:
        raise BadInput(Problem("no log", do="a log, a folder of logs, or a run's id"))
    return apart(lambda: diagnosis_of(named))


def diagnosis_of(paths: list[str]) -> Diagnosis:
    return diagnose_verb.of_paths(paths, []).diagnosis


# ---- runs ----


@dataclass(frozen=True)
class RunState:
    """The state of a run as its head reports it. `state` is `succeeded`, `failed`, `stopped`, `lost`, one of the states
    on the way there, or None if it is unknown (`why`). `raw` is the whole answer."""

    id: str
    name: str | None
    state: str | None
    step: int | None
    total_steps: int | None
    why: str
    started_at: float | None
    ended_at: float | None
    adapter: Mapping[str, Any] | None
    diagnosis: Diagnosis | None
    findings: tuple[Finding, ...]
    raw: Mapping[str, Any] = field(repr=False, default_factory=dict)

    @property
    def has_ended(self) -> bool:
        return self.state in run_verbs.FINAL


def state_of(raw: Mapping[str, Any]) -> RunState:
    found = mapping(raw.get("diagnosis"))
    cause = diagnosis_from_json(dict(found)) if {"cause", "confidence"} <= found.keys() else None
    return RunState(
        id=str(raw.get("id")),
        name=text(raw.get("name")),
        state=text(raw.get("state")),
        step=integer(raw.get("step")),
        total_steps=integer(raw.get("total_steps")),
        why=text(raw.get("why")) or "",
        started_at=number(raw.get("started_at")),
        ended_at=number(raw.get("ended_at")),
        adapter=mapping(raw.get("adapter")) or None,
        diagnosis=cause,
        findings=tuple(finding_from_json(dict(one)) for one in mappings(raw.get("findings"))),
        raw=dict(raw),
    )


@dataclass(frozen=True)
class Run:
    """A run that was started, here or elsewhere, by its id. It goes on without this object."""

    id: str

    def state(self) -> RunState:
        """Its state now. Raises CouldNotTell if its head cannot be asked."""

        async def fetched() -> Mapping[str, Any]:
            async with index.connected_head(self.id) as head:
                return await run_verbs.status(head, self.id)

        return state_of(done(fetched()))

    def watch(self) -> Iterator[Event]:
        """Every event of the run's journal from its beginning, each once, until the run has ended. Leaving the
        loop ends only the watching. Raises CouldNotTell if the connection to its head ends, or if the journal ends
        and the run has not."""
        return each(self._events)

    async def _events(self) -> AsyncGenerator[Event, None]:
        has_ended = False
        async with index.connected_head(self.id) as head:
            async for event in run_verbs.journal(head, self.id):
                if event.kind == "state":
                    has_ended = event.data.get("state") in run_verbs.FINAL
                yield event
            # A killed keeper writes no last state, and a killed program that read the journal here says nothing.
            if not has_ended:
                await run_verbs.last_state(head, self.id)

    def wait(self) -> RunState:
        """Its last state, once it has ended. Raises CouldNotTell if that cannot be told."""

        async def until_end() -> Mapping[str, Any]:
            async with index.connected_head(self.id) as head:
                async for _ in run_verbs.journal(head, self.id):
                    pass
                return await run_verbs.last_state(head, self.id)

        return state_of(done(until_end()))

    def stop(self, save: bool = False) -> RunState:
        """Stops every process of the run, and nothing else; with `save` the ranks save first, if they can. Raises
        Blocked if a process of it is left, CouldNotTell if a node could not be asked."""
        result = done(cleanup.stop(self.id, save))
        if result.get("left"):
            raise Blocked(f"{self.id}: {result['left']} of its processes are left")
        if result.get("unreadable"):
            why = "; ".join(f"{node}: {said}" for node, said in dict(result["unreadable"]).items())
            raise CouldNotTell(f"{self.id} could not be looked at everywhere: {why}")
        return state_of({**result, "id": self.id})


def find_run(name: str | None = None) -> Run:
    """A run by its id, the beginning of it, or its run file; the newest without a name. Raises BadInput."""
    return Run(done(index.find(name)))


def list_runs() -> list[RunState]:
    """Every run that this machine knows of, newest first."""
    return [state_of(one) for one in done(index.all_runs())]
