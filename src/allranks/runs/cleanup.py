"""Stops runs and cleans up after them, on every node. It finds processes by identity, never by name."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import Any

from allranks import prepare
from allranks.core import CouldNotTell, Finding, Node
from allranks.core.run_states import FINAL
from allranks.runs import index, launch_record
from allranks.runs.leftovers import Leftovers
from allranks.transport import NodeProgram, Nodes, Outcome, ProgramFailed, Unreachable

STOP_SECONDS = 30.0
"""Time for the grace period (10 s), SIGKILL and the report. After that allranks asks the nodes directly, without the
keeper."""

FINISHING = ("verify", "prove", "prune")
"""The keeper's phases after the last rank has ended. Each has its own time limit."""

UNDOING_SECONDS = 90.0
"""Time for the process that starts a run to undo the start: a call under way ends (30 s), then it stops supervisors
and removes folders."""

JOB_SECONDS = 60.0
"""Time from cancelling a job to its end: SLURM's KillWait is 30 s by default, and its epilog follows."""


async def stop(run_id: str, save: bool = False) -> dict[str, Any]:
    """Asks the keeper to end the run. If it does not end the run in time, every node stops its own part.

    With `save` the ranks save first, if they can. The run's own job is cancelled if it still waits, or if its keeper
    no longer answers. `left` is the number of processes that still live. `unreadable` maps each node that could not
    be asked to the reason.
    """
    job = index.waiting(run_id)
    if job is not None:
        return await stop_waiting(run_id, job)
    result = await stop_starting(run_id) or await stop_on_nodes(run_id, save)
    return await ended_job(result) or result


async def stop_waiting(run_id: str, job: str) -> dict[str, Any]:
    """Removes the run's job from the queue. Nothing of the run is on any node yet."""
    queue = index.job_of(index.entry(run_id))[0]
    cancelled = queue is not None and await queue.cancel(job, run_id)
    if queue is not None and not cancelled:
        now = await queue.job(job)
        if now.waits or now.runs:
            raise CouldNotTell(
                f"job {job} of {run_id} is still there: {queue.NAME} did not cancel it, or its comment no longer names "
                f"this run.\n  fix  look at it, and cancel it by hand"
            )
    index.forget(run_id)
    return {**stopped(run_id, "stopped"), "cancelled": job if cancelled else None}


async def stop_starting(run_id: str) -> dict[str, Any] | None:
    """Stops a run that is being started. The process that starts it undoes the start; if that process is gone, this
    function ends whatever it left. None for any other run, and for a run whose keeper has taken over."""
    deadline = time.monotonic() + UNDOING_SECONDS
    if launch_record.lives(index.entry(run_id)):
        index.call_off(run_id)
        while launch_record.lives(index.entry(run_id)) and time.monotonic() < deadline:
            await asyncio.sleep(0.2)
        if not index.entry(run_id):
            return stopped(run_id, "stopped")
    entry = index.entry(run_id)
    if not entry.get("starting") or not (await index.told_by_head(entry)).get("cut_off"):
        return None
    async with index.connected(run_id) as nodes:
        boxes = await prepare.remains_of(nodes, run_id)
        await stop_direct(boxes.inside(nodes), run_id)
        findings = await prepare.stop_containers(nodes, boxes) if boxes.known else []
        left, unreadable = await remaining(nodes, run_id, await prepare.remains_of(nodes, run_id))
    return stopped(run_id, "lost", left, unreadable, findings)


def stopped(
    run_id: str,
    state: str | None,
    left: int = 0,
    unreadable: Mapping[str, str] | None = None,
    findings: Sequence[Finding] = (),
) -> dict[str, Any]:
    """The answer of `stop`."""
    told = {"findings": [finding.as_json() for finding in findings]} if findings else {}
    return {"id": run_id, "state": state, "left": left, "unreadable": dict(unreadable or {}), **told}


async def stop_direct(nodes: Nodes, run_id: str, seconds: float = 60.0) -> list[Outcome]:
    """Ends the run without the keeper: every node that knows the run ends its own part."""

    async def one(_node: Node, program: NodeProgram) -> None:
        if await has_run(program, run_id):
            await program.call("stop", run_id, "--direct", timeout_seconds=seconds)

    return await nodes.each(one)


async def ended_job(result: dict[str, Any]) -> dict[str, Any] | None:
    """Cancels the job of a run that its keeper and supervisors did not stop. None if that is not necessary, or if the
    job does not belong to the run."""
    run_id = str(result["id"])
    queue, job = index.job_of(index.entry(run_id))
    done = result["state"] in FINAL and not result["left"] and not result["unreadable"]
    if queue is None or job is None or done or not await queue.cancel(job, run_id):
        return None
    deadline, first = time.monotonic() + JOB_SECONDS, True
    while (now := await queue.job(job)).runs and time.monotonic() < deadline:
        await queue.turn(first)
        first = False
    if now.runs:
        why = f"{queue.NAME}'s job {job} is still {now.state} {JOB_SECONDS:.0f} s after it was cancelled"
        names = launch_record.nodes_of(index.entry(run_id)) or ["its nodes"]
        unreadable = {**dict.fromkeys(names, why), **result["unreadable"]}
        return {**result, "unreadable": unreadable, "cancelled": job}
    state = result["state"] if result["state"] in FINAL else "lost"
    # Every process of a job ends with the job, also on nodes that did not answer.
    return {**result, "state": state, "left": 0, "unreadable": {}, "cancelled": job}


async def stop_on_nodes(run_id: str, save: bool = False) -> dict[str, Any]:
    """Stops a run through its nodes. If the head cannot be asked, every node ends its own part, and the head is in
    `unreadable`."""
    async with index.connected(run_id) as nodes:
        head = next(iter(nodes.programs.values()))
        boxes = await prepare.remains_of(nodes, run_id)
        seconds, silent = await ask_head(head, run_id, save)
        led = head.node not in boxes.gone and not silent  # a keeper whose container has ended will not answer
        state = await wait_for_end(head, run_id, seconds=seconds if led else 0.0)
        left, unreadable = await remaining(nodes, run_id, boxes)
        if left and await finishes(boxes.inside(nodes), run_id):
            return {**stopped(run_id, state, 0, unreadable), "finishes": True}
        if state not in FINAL or left:
            await boxes.inside(nodes).each(
                lambda _node, program: program.call("stop", run_id, "--direct", timeout_seconds=60)
            )
            state = await wait_for_end(head, run_id, seconds=5.0 if led else 0.0)
            left, unreadable = await remaining(nodes, run_id, boxes)
        findings: list[Finding] = []
        if boxes.known:
            findings = await prepare.stop_containers(nodes, boxes)
            left, unreadable = await remaining(nodes, run_id, await prepare.remains_of(nodes, run_id))
            if not led and not silent and not left and state not in FINAL:
                state = "lost"
        return stopped(run_id, state, left, {**silent, **unreadable}, findings)


async def finishes(nodes: Nodes, run_id: str) -> bool:
    """Whether the keeper lives and no rank does: it copies, prunes and reports, and then ends by itself."""
    outcomes = await nodes.each(lambda _node, program: program.call("sweep", run_id, "--dry-run"))
    living = [one for outcome in outcomes for one in answer_of(outcome).get("processes", ())]
    if any(outcome.error is not None for outcome in outcomes) or not all(one.get("own") for one in living):
        return False
    try:
        status = await next(iter(nodes.programs.values())).call("read", "status", run_id)
    except (Unreachable, ProgramFailed):
        return False
    ends = status.get("state") in FINAL or status.get("phase") in FINISHING
    return ends and bool(status.get("keeper_alive"))


async def ask_head(head: NodeProgram, run_id: str, save: bool) -> tuple[float, dict[str, str]]:
    """How many seconds the keeper may need to end the run. If the head cannot be asked: its name and the reason."""
    try:
        asked = await head.call("stop", run_id, *(["--save"] if save else []))
    except (Unreachable, ProgramFailed) as error:
        return 0.0, {head.node: error.text}
    return STOP_SECONDS + float(asked.get("save_seconds") or 0.0), {}


async def wait_for_end(head: NodeProgram, run_id: str, seconds: float = STOP_SECONDS) -> str | None:
    """The state when the run has ended, or after `seconds`; None if the head does not report it then. One call that
    fails proves nothing: the ranks may be saving."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            state = (await head.call("read", "status", run_id)).get("state")
        except (Unreachable, ProgramFailed):
            state = None
        if state in FINAL or time.monotonic() > deadline:
            return None if state is None else str(state)
        await asyncio.sleep(0.3)


async def remaining(
    nodes: Nodes, run_id: str, boxes: prepare.Remains | None = None
) -> tuple[int, dict[str, str]]:
    """The number of the run's processes on the nodes that answered, and the other nodes, each with the reason."""
    boxes = boxes or prepare.Remains()
    words = ["--dry-run", *boxes.words()]
    outcomes = await boxes.inside(nodes).each(lambda _node, program: program.call("sweep", run_id, *words))
    answers = [answer for answer in once_a_host(outcomes) if "error" not in answer]
    living = sum(len(answer.get("processes", ())) for answer in answers)
    unreadable = {o.node.name: str(o.error) for o in outcomes if o.error is not None}
    # With a shared home each node sees only its own processes. A process that no node could see may still run.
    unseen = [set(answer.get("unseen", ())) for answer in answers]
    for name in sorted(set.intersection(*unseen)) if unseen else ():
        unreadable.setdefault(name, "its processes cannot be seen: another host, or a container")
    return living, unreadable


async def sweep(run_id: str, dry_run: bool) -> list[dict[str, Any]]:
    """The leftovers of a run on each node, as the node reports them. `keeps`: a container was not seen or not removed,
    and only the run's directory knows its name."""
    if index.waiting(run_id) is not None:
        return []
    async with index.connected(run_id) as nodes:
        boxes = await prepare.remains_of(nodes, run_id)
        words = [*(["--dry-run"] if dry_run else []), *boxes.words()]
        outcomes = await boxes.inside(nodes).each(
            lambda _node, program: program.call("sweep", run_id, *words, timeout_seconds=60.0)
        )
        told = {name: f"{one.engine} container {one.name}" for name, one in boxes.there.items()}
        if not dry_run:
            told = await prepare.remove_containers(nodes, boxes)
    answers = [
        {"error": why, **a, "keeps": True} if (why := boxes.failed.get(a["node"])) else a
        for a in once_a_host(outcomes)
    ]
    return [{**a, "containers": [told[a["node"]]]} if a["node"] in told else a for a in answers]


def once_a_host(outcomes: list[Outcome]) -> list[dict[str, Any]]:
    """The nodes' answers, without duplicates. Nodes that are one host (`same_host`) see the same processes; only the
    first of these nodes keeps them."""
    told: set[tuple[str, int, int]] = set()
    answers = []
    for outcome in outcomes:
        answer = answer_of(outcome)
        fresh = []
        for process in answer.get("processes", ()):
            key = (outcome.node.address, int(process["pid"]), int(process.get("start_time") or 0))
            if key not in told:
                told.add(key)
                fresh.append(process)
        answers.append({**answer, "processes": fresh})
    return answers


def answer_of(outcome: Outcome) -> dict[str, Any]:
    if outcome.error is not None:
        return {"node": outcome.node.name, "error": str(outcome.error), "processes": []}
    return {**outcome.answer, "node": outcome.node.name}


LEFT = ("processes", "files", "containers", "error")


async def leftovers(name: str | None, files: bool, with_models: bool = False) -> Leftovers:
    """The leftovers of ended runs: of all runs, or of the named one. With `files` also their directories, except the
    files that the scripts saved there; with `with_models` those, too."""
    runs = await index.all_runs()
    if name is not None:
        wanted = await index.find(name)
        runs = [run for run in runs if run["id"] == wanted]
    running = tuple(str(r["id"]) for r in runs if r.get("state") not in (*FINAL, None))
    unknown = {
        str(r["id"]): str(r.get("why") or "its head tells no state") for r in runs if not r.get("state")
    }
    found: dict[str, list[dict[str, Any]]] = {}
    directories: dict[str, str] = {}
    models: dict[str, list[dict[str, Any]]] = {}
    for run in runs:
        run_id = str(run["id"])
        is_silent = run_id in unknown and ("silent_seconds" in run or bool(run.get("missing")))
        if run.get("state") not in FINAL and not is_silent:
            continue
        nodes = await sweep(run_id, dry_run=True)
        if is_silent and not is_over(nodes):
            continue
        unknown.pop(run_id, None)
        rest = False
        if files:
            models[run_id], rest = await saved_in(run_id)
            rest = rest or (not models[run_id] and bool(run.get("cut_off") or run.get("missing")))
        if rest or (with_models and models.get(run_id)):
            directories[run_id] = str(
                run.get("directory") or "what its nodes hold, and what is known of it here"
            )
        if run_id in directories or any(node.get(key) for node in nodes for key in LEFT):
            found[run_id] = nodes
    models = {run_id: saved for run_id, saved in models.items() if saved}
    return Leftovers(found, directories, running, unknown, models, with_models)


async def saved_in(run_id: str) -> tuple[list[dict[str, Any]], bool]:
    """The script's saves in the run's directories, each place once; and whether anything else is there, or may be."""
    async with index.connected(run_id) as nodes:
        boxes = await prepare.remains_of(nodes, run_id)
        outcomes = await clean_each(nodes, run_id, ["--dry-run", *boxes.words()])
    saved: dict[tuple[str, str], dict[str, Any]] = {}
    for outcome in outcomes:
        for one in answer_of(outcome).get("models", ()):
            saved.setdefault(
                (outcome.node.address, one["path"]),
                {"node": outcome.node.name, "path": one["path"], "bytes": one["bytes"]},
            )
    return list(saved.values()), any(o.error is not None or answer_of(o).get("rest") for o in outcomes)


def is_over(nodes: list[dict[str, Any]]) -> bool:
    """Whether all nodes answered and no process of the run lives: then nothing can write its last state any longer."""
    return bool(nodes) and not any(
        node.get(key) for node in nodes for key in ("error", "processes", "unseen")
    )


def alive(nodes: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The nodes on which processes of the run are left after a sweep, each with these processes."""
    return {
        str(node["node"]): ", ".join(
            f"pid {one['pid']} {one.get('name', '')}".rstrip() for one in node["processes"]
        )
        for node in nodes
        if node.get("processes")
    }


def not_done(nodes: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The nodes that could not be looked at or cleaned, each with the reason."""
    return {str(node["node"]): str(node["error"]) for node in nodes if "error" in node}


async def tidy(found: Leftovers) -> dict[str, Any]:
    """Removes the leftovers that `leftovers` listed. Each node decides again which of them belong to the run."""
    done: dict[str, Any] = {}
    for run_id in found.runs:
        nodes = await sweep(run_id, dry_run=False)
        if run_id in found.directories and not (alive(nodes) or any(node.get("keeps") for node in nodes)):
            nodes = await remove_directories(run_id, found.with_models)
        done[run_id] = nodes
    return {"cleaned": done}


async def has_run(program: NodeProgram, run_id: str) -> bool:
    return any(run["id"] == run_id for run in (await program.call("read", "runs"))["runs"])


async def clean_each(nodes: Nodes, run_id: str, words: Sequence[str] = ()) -> list[Outcome]:
    """Removes the run's folder on one node after the other, since nodes may share a home, and with it the folder.

    The head comes last. It keeps its folder if another node could not be cleaned, because only the head has the
    description of the run.
    """
    head, *others = nodes.programs
    outcomes: dict[str, Outcome] = {}
    for name in (*others, head):
        failed = [one for one, outcome in outcomes.items() if outcome.error is not None]
        if name == head and failed and "--dry-run" not in words:
            outcomes[name] = Outcome(nodes.nodes[name], {"removed": None, "waits_for": failed})
            continue
        try:
            program, answer = nodes[name], {}
            if await has_run(program, run_id):
                answer = await program.call("clean", run_id, *words)
            outcomes[name] = Outcome(nodes.nodes[name], answer)
        except (Unreachable, ProgramFailed) as error:
            outcomes[name] = Outcome(nodes.nodes[name], error=error)
    return [outcomes[name] for name in nodes.programs]


async def remove_directories(run_id: str, with_models: bool = False) -> list[dict[str, Any]]:
    """Removes the run's directories on every node. If a model is left, the run stays in the index, so that its folder
    can be removed later."""
    async with index.connected(run_id) as nodes:
        boxes = await prepare.remains_of(nodes, run_id)
        words = [*(["--models"] if with_models else []), *boxes.words()]
        outcomes = await clean_each(nodes, run_id, words)
    stays = not with_models and any(answer_of(outcome).get("models") for outcome in outcomes)
    if not stays and all(outcome.error is None for outcome in outcomes):
        index.forget(run_id)
    return [answer_of(outcome) for outcome in outcomes]
