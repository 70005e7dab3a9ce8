"""The inspection that `check`, `plan` and `run` share: facts of all nodes, the plan, and the findings."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from allranks import checks, prepare
from allranks.core import BLOCK, Event, Facts, Finding, Node, stopping_launch
from allranks.core.untrusted import mapping
from allranks.plan import Plan, make_plan
from allranks.plan.batch import advice, batch_of
from allranks.runs import index, local_inputs, script_keys
from allranks.runs.shared_storage import facts_of, look_again
from allranks.runs.silent_nodes import Late, SilentNodes
from allranks.spec import Environment, Run, base_model, launchers
from allranks.transport import NodeProgram, Nodes, Outcome

Tell = Callable[[Event], None]


@dataclass(frozen=True)
class Inspection:
    """The facts that were collected, the plan and the findings."""

    run: Run
    plan: Plan
    facts: tuple[Facts, ...]
    findings: tuple[Finding, ...]
    activated: Mapping[str, prepare.Activated] = field(default_factory=dict)

    def stopping(self) -> list[Finding]:
        """The findings that forbid a launch, without those that the user accepts by id."""
        return stopping_launch(self.findings, self.run.accept)


def python_of(run: Run) -> str:
    """The training environment's Python: the one in the run file, else the one in use here or `python3`."""
    if run.environment.python:
        return run.environment.python
    return sys.executable if run.is_here and run.container is None else "python3"


def at_home(python: str, facts: Facts) -> str:
    """The Python whose path begins with `~`, as the node found it: nothing on the node expands it later."""
    return str(facts.get("software.python.executable") or python) if python.startswith("~") else python


def local_config(run: Run) -> dict[str, Any] | None:
    """The model's `config.json` on this machine: in the model's folder, beside the run file, or in the cache of the
    Hugging Face Hub. None if there is none; the planner then reports that."""
    candidates = [run.model_config] if run.model_config else []
    if base_model.name_of(run) is not None:
        folder = base_model.folder_of(run)
        if folder is not None:
            candidates.insert(0, str(Path(folder) / "config.json"))
        cached = local_inputs.cached_config(run)
        candidates += [cached] if cached else []
    for candidate in candidates:
        config = read_object(candidate)
        if config is not None:
            return config
    return None


def read_object(path: str) -> dict[str, Any] | None:
    """A JSON object from a file; None if there is none."""
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def deepspeed_of(run: Run) -> dict[str, Any] | None:
    """The contents of the DeepSpeed JSON that the run file names by path; None for the profiles that allranks plans."""
    if run.deepspeed in ("auto", "zero3", "zero3-offload", "none"):
        return None
    try:
        data = json.loads(Path(run.deepspeed).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        data, trouble = None, str(error)
    else:
        trouble = "it is not a JSON object"
    if not isinstance(data, dict):
        saw = f"deepspeed: {run.deepspeed} cannot be read: {trouble}"
        raise run.refuse("deepspeed", saw, "", "deepspeed: auto, or the path of a DeepSpeed JSON")
    return data


def planned(
    run: Run,
    facts: Sequence[Facts] = (),
    samples: int | None = None,
    price: float | None = None,
    probe: Mapping[str, Any] | None = None,
    asks_hub: bool = True,
) -> Plan:
    """The plan with the first `config.json` that is found: on this machine, on a node, or from the Hub. `samples` is
    the data set's size if the user gives it, `price` the price of a GPU hour, `probe` the output of a probe. Without
    `asks_hub` the model may stay unknown."""
    config = local_config(run)
    if config is None:
        found = (config_in(one, run) for one in facts)
        config = next((c for c in found if c is not None), None)
    fetched = None
    if config is None and asks_hub:
        from allranks.runs import hub_config  # imports ssl, and is seldom needed

        fetched = hub_config.config_of(run)
        config = fetched.config if fetched is not None else None
    return make_plan(
        run,
        config,
        {one.node: one for one in facts},
        deepspeed=deepspeed_of(run),
        dataset_samples=samples or local_inputs.samples_of(run),
        price=price,
        probe=probe,
        described=local_inputs.described(run, config, python_of(run)),
        without=(fetched.saw, fetched.fix) if fetched is not None else None,
    )


def config_in(facts: Facts, run: Run) -> dict[str, Any] | None:
    """The model's config.json as a node sent it: from the model's folder there, or from its cache of the Hub."""
    kept, model = facts.get("hub.model"), local_inputs.hub_model(run)
    is_same = isinstance(kept, Mapping) and model == (kept.get("id"), kept.get("revision"))
    found = (facts.get("storage.model.config"), kept.get("config") if is_same else None)
    return next((dict(config) for config in found if isinstance(config, Mapping)), None)


async def collect(
    nodes: Nodes,
    run: Run,
    plan: Plan,
    families: Sequence[str] = (),
    paths: Sequence[str] = (),
    heard: Callable[[str], None] | None = None,
    activated: Mapping[str, prepare.Activated] | None = None,
) -> list[Facts]:
    """Collects facts with one call per node. A node that cannot be asked gets a `Facts` with the reason.

    `families` is empty for all families; `paths` are read in addition to those of the run. `heard` is called with the
    name of each node that has answered or failed. `activated` is each node's environment after its modules and
    script.
    """
    request = checks.request(run, plan)

    async def fetch(node: Node, program: NodeProgram) -> Facts:
        wanted = request.get(node.name, {})
        wanted.setdefault("python", python_of(run))
        wanted["paths"] = [*wanted.get("paths", ()), *paths]
        if families:
            wanted["families"] = list(families)
        if activated and node.name in activated:
            wanted["env"] = {**activated[node.name].variables, **wanted.get("env", {})}
            wanted["python"] = activated[node.name].python
        sent_at = time.time()
        try:
            answer = await program.call("facts", stdin=wanted, timeout_seconds=run.answer_seconds)
        finally:
            if heard is not None:
                heard(node.name)
        facts = facts_of(node.name, answer)
        asked = {"sent_at": sent_at, "received_at": time.time()}
        return replace(facts, values={**facts.values, "asked": asked})

    outcomes = await nodes.each(fetch)
    return [outcome.answer or not_asked(outcome) for outcome in outcomes]


def not_asked(outcome: Outcome) -> Facts:
    """The facts of a node that could not be asked, with the reason, and the fix if one is known."""
    fix = getattr(outcome.error, "fix", "")
    return Facts(outcome.node.name, 0.0, {"asked": {"fix": fix}} if fix else {}, {"node": str(outcome.error)})


async def inspect(nodes: Nodes, run: Run, late: Late | None = None) -> Inspection:
    """Asks every node, plans with the answers, and judges. `late` gets the nodes that have not answered yet."""
    async with SilentNodes(nodes.nodes, late) as silent:
        activated, failed = await prepare.activate_all(nodes, run, python_of(run))
        plan = planned(run, asks_hub=False)
        facts = await collect(nodes, run, plan, heard=silent.heard, activated=activated)
    inspection = judge(run, await look_again(nodes, run, facts))
    found = (
        *without_effect(run),
        *script_keys.unheard(run),
        *failed,
        *batch_changed(run),
        *inspection.findings,
    )
    return replace(inspection, findings=found, activated=activated)


def batch_changed(run: Run) -> list[Finding]:
    """A finding if the number of samples per step differs from the last run's: what that means for the learning
    rate."""
    now = batch_of(run)
    before = index.batch_before(run.name) if now is not None else None
    found = advice(run, now, before[1], before[0]) if now is not None and before is not None else None
    return [] if found is None else [found]


def without_effect(run: Run) -> list[Finding]:
    """A finding for a `sweep` with a launcher that has no queue, and so no job array."""
    if not run.sweep or run.launcher.queue is not None:
        return []
    queues = " or ".join(one.name for one in launchers.every() if one.queue)
    return [
        Finding(
            id="key-without-effect",
            verdict=BLOCK,
            where=run.where("sweep"),
            saw=f"sweep works only with launch: {{with: {queues}}}.",
            why="the run would not do what you asked for.",
            fix=f"launch: {{with: {queues}}}, or take sweep out of the run file",
        )
    ]


INSIDE = ("software", "imports", "libraries", "storage", "hub")
"""The families of facts about the training environment: they are read again inside a container."""

OF_SYSTEM = ("limits", "container", "cgroup_memory_bytes")


async def inspect_inside(seen: Inspection, inside: Nodes, python: Mapping[str, str]) -> Inspection:
    """The inspection again, with the facts of the prepared training environment in place of the hosts' facts."""
    run = as_inside(seen.run, python)
    asked = replace(run, cluster=seen.run.cluster)
    paths = [text.split(":")[1] for text in (seen.run.container.mounts if seen.run.container else ())]
    families = (*INSIDE, "system")
    variables = {name: one.variables for name, one in seen.activated.items()}
    told = {name: prepare.Activated(path, variables.get(name, {})) for name, path in python.items()}
    answers = await collect(inside, asked, seen.plan, families, paths, activated=told)
    facts = [merged(host, found) for host, found in zip(seen.facts, answers, strict=True)]
    inspection = judge(run, facts)
    own = [f for one in answers for f in prepare.from_inside(seen.run, one)]
    return replace(inspection, run=seen.run, findings=(*own, *inspection.findings), activated=seen.activated)


def as_inside(run: Run, python: Mapping[str, str]) -> Run:
    """The run as its training environment sees it: without a container around it, and with that environment's
    Python."""
    one = next(iter(python.values()), None) or run.environment.python
    return replace(run, container=None, environment=Environment(python=one))


def merged(host: Facts, inside: Facts) -> Facts:
    """Takes the facts of the machine from the host, and those of the training environment from inside."""
    values, system = dict(host.values), dict(host.values.get("system") or {})
    system.update({name: inside.get(f"system.{name}") for name in OF_SYSTEM})
    values.update({name: inside.values.get(name, {}) for name in INSIDE})
    # A launcher's program belongs to the host: it starts the program that then enters the container.
    programs = host.get("software.programs")
    # Only some folders of the home are mounted, so the home itself is the host's.
    home = host.get("system.allranks_home")
    kept = mapping(host.get("storage.paths")).get(home)
    if kept is not None:
        values["storage"] = {
            **values["storage"],
            "paths": {**mapping(inside.get("storage.paths")), home: kept},
        }
    values["software"] = {**values["software"], **({"programs": programs} if programs else {})}
    values["system"] = system
    unreadable = {path: why for path, why in host.unreadable.items() if path.split(".")[0] not in INSIDE}
    wanted = (*INSIDE, "node", *(f"system.{name}" for name in OF_SYSTEM))
    unreadable.update({path: why for path, why in inside.unreadable.items() if path.startswith(wanted)})
    return replace(host, values=values, unreadable=unreadable)


def judge(run: Run, facts: Sequence[Facts]) -> Inspection:
    """Judges live or recorded facts, together with the plan's own findings and the run file's notes."""
    facts = local_inputs.with_shipped(run, facts)
    plan = planned(run, facts)
    findings = [*run.notes, *plan.findings, *checks.judge(facts, plan, run)]
    return Inspection(run, plan, tuple(facts), tuple(findings))


def verdict_code(findings: Sequence[Finding], accept: Container[str] = ()) -> int:
    """The exit code for a verb's findings: 1 if one is an error, 3 if one is unknown, 0 if none stops a launch."""
    found = stopping_launch(findings, accept)
    if not found:
        return 0
    return 1 if any(f.verdict == BLOCK for f in found) else 3
