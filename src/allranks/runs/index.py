"""The local index: the runs that were started from here, and how to reach their nodes. It is only a cache."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from allranks.core import BadInput, Node, Problem
from allranks.core.file_kinds import is_file
from allranks.core.untrusted import number
from allranks.launch.queue import Queue
from allranks.node import paths, private_folder
from allranks.node.paths import RunDirectory
from allranks.plan.batch import Batch, batch_from_json, batch_of
from allranks.runs import launch_record, lost_head, queued
from allranks.spec import Run, launchers, load
from allranks.transport import NodeProgram, Nodes, ProgramFailed, Unreachable, open_nodes, reached

ASKED = 50
"""`ps` asks the heads of so many of the newest runs; an older run is found only by its whole id."""

HERE = Node("this-machine", "127.0.0.1", 0)


def folder() -> Path:
    """The folder of the index. Raises BadInput if other users could write into it: the index decides on which
    machines a run is stopped and removed."""
    home = paths.home()
    place = Path(home) / "index"
    try:
        private_folder.check_home(home)
        if place.exists():
            private_folder.check(str(place), place.stat())
    except PermissionError as error:
        why, _, fix = str(error.strerror).partition(". Fix: ")
        raise BadInput(Problem(f"{error.filename}: {why}", do=fix)) from None
    return place


def remember(run_id: str, run: Run) -> None:
    """Writes the run's entry. If that fails, the run continues."""
    write(run_id, entry_of(run_id, run))


def remember_starting(run_id: str, run: Run) -> None:
    """Writes the entry before anything of the run is on a node, because the start may be interrupted."""
    write(run_id, {**entry_of(run_id, run), "starting": launch_record.record(run_id)})


def call_off(run_id: str) -> None:
    """Asks the process that starts the run to undo the start. That process checks every half second."""
    write(run_id, {**entry(run_id), "called_off": True})


def remember_waiting(run_id: str, run: Run, job: str) -> None:
    """Writes the entry of a run that waits for its nodes, so that its job can always be found and ended."""
    write(run_id, {**entry_of(run_id, run), "address": job, "nodes": [], "waiting": True})


def entry_of(run_id: str, run: Run) -> dict[str, Any]:
    batch = batch_of(run)
    return {
        "batch": batch.as_json() if batch is not None else None,
        "id": run_id,
        "name": run.name,
        "file": whole_path(run),
        "launch": run.launch.with_,
        "user": run.user,
        "transport": run.transport,
        "address": run.launch.address,
        "created_at": time.time(),
        "nodes": [node.as_json() for node in run.cluster.nodes],
    }


def whole_path(run: Run) -> str | None:
    """The run file's path, which means the same from every folder of this machine."""
    return str(Path(run.file).resolve()) if run.file else None


def write(run_id: str, entry: dict[str, Any]) -> None:
    try:
        private_folder.make(str(folder()))
        paths.write_json(str(place(run_id)), entry)
    except OSError:
        return


def place(run_id: str) -> Path:
    """The file of a run's entry. Raises BadInput for an id that cannot be part of a path."""
    return folder() / f"{paths.checked_name(run_id, 'run')}.json"


def forget(run_id: str) -> None:
    place(run_id).unlink(missing_ok=True)


def entry(run_id: str) -> dict[str, Any]:
    """The run's entry; empty if the run was not started from here."""
    return paths.read_object(str(place(run_id)))


def entries() -> list[dict[str, Any]]:
    """All entries, newest first. An unreadable entry is skipped, since the nodes know the true state."""
    found = (paths.read_object(str(path)) for path in folder().glob("*.json"))
    return sorted(filter(None, found), key=lambda entry: -(number(entry.get("created_at")) or 0.0))


async def all_runs() -> list[dict[str, Any]]:
    """Every run that this machine knows, newest first, with the state that its head reports."""
    answer = await reached([HERE], launchers.LOCAL)[HERE.name].call("read", "runs")
    here = list(answer["runs"])
    ids = {run["id"] for run in here}
    known = entries()
    elsewhere = [e for e in known if e.get("id") not in ids and (not is_here(e) or e.get("starting"))]
    elsewhere = elsewhere[:ASKED]
    begins = {e.get("id"): e for e in known if e.get("starting")}
    here = [launch_record.settled(begins.get(run["id"], {}), run) for run in here]
    told = await asyncio.gather(*(told_by_head(entry) for entry in elsewhere))
    jobs = {str(e.get("id")): job_of(e) for e in known}
    here = await asyncio.gather(*(queued.settled(*jobs.get(run["id"], (None, None)), run) for run in here))
    return sorted([*here, *told], key=lambda run: -(number(run.get("started_at")) or 0.0))


def batch_before(name: str) -> tuple[str, Batch] | None:
    """The newest run of this name that was started from here, and its batch."""
    for one in entries():
        batch = batch_from_json(one.get("batch"))
        if one.get("name") == name and batch is not None:
            return str(one.get("id")), batch
    return None


def waiting(run_id: str) -> str | None:
    """The number of the job that a run waits for; None if it has its nodes."""
    known = entry(run_id)
    return str(known["address"]) if known.get("waiting") else None


def job_of(entry: Mapping[str, Any]) -> tuple[Queue | None, str | None]:
    """The queue and the number of the job that a run was started in. The queue knows whether the job belongs to the
    run."""
    name = str(entry.get("launch"))
    make = launchers.find(name).queue if name in launchers.names() else None
    return (None, None) if make is None or not entry.get("address") else (make(), str(entry["address"]))


def is_here(entry: Mapping[str, Any]) -> bool:
    """Whether the run's nodes are this machine."""
    name = str(entry.get("launch"))
    return name in launchers.names() and launchers.find(name).reach == launchers.HERE


async def told_by_head(entry: dict[str, Any]) -> dict[str, Any]:
    """The state of a run on other machines, as its head reports it; unknown if the head cannot be asked."""
    run_id = str(entry["id"])
    queue, job = job_of(entry)
    known = launch_record.unknown(entry)
    if entry.get("waiting") and queue is not None:
        return await queued.waiting(queue, str(entry.get("address")), known)
    try:
        nodes = nodes_of(run_id)
    except BadInput as error:
        return {**known, "why": str(error)}  # perhaps a launcher that only a newer version knows
    try:
        told = dict(await next(iter(nodes.programs.values())).call("read", "status", run_id))
        told["id"] = run_id  # the entry keeps this id, whatever id the node reports
        told = launch_record.settled(entry, told)
        return await queued.settled(queue, job, told)
    except (Unreachable, ProgramFailed) as error:
        known["why"] = str(error)
        if isinstance(error, ProgramFailed):
            # A head that answers is not lost, even if its program fails.
            missing = {"missing": True} if await lacks(nodes, run_id) else {}
            return launch_record.settled(entry, {**known, **missing}, answered=bool(missing))
        told = launch_record.settled(entry, known, answered=False)
        return told if told["state"] else {**known, **await lost_head.lost(nodes, run_id, str(error))}
    finally:
        await nodes.close()


async def lacks(nodes: Nodes, run_id: str) -> bool:
    """Whether the head lists its runs and this run is not among them."""
    try:
        runs = (await next(iter(nodes.programs.values())).call("read", "runs"))["runs"]
    except (Unreachable, ProgramFailed):
        return False
    return all(run.get("id") != run_id for run in runs)


async def find(name: str | None) -> str:
    """A run's id, from the id or a unique beginning of it. Without a name, the newest run's id.

    The path of a run file means its newest run, also if another machine started it.
    """
    if name == "":
        raise BadInput(
            Problem("an empty name of a run (an unset variable?)", do="allranks ps lists the runs")
        )
    if name is not None and is_file(name):
        return await adopt(name)
    if name is not None and any(entry.get("id") == name for entry in entries()):
        return name  # also if it is older than the runs whose heads are asked
    runs = await all_runs()
    ids = [str(run["id"]) for run in runs]
    if name in ids:
        return str(name)
    fitting = [one for one in ids if name is None or one.startswith(name)]
    if name is None and ids:
        return ids[0]
    if len(fitting) == 1:
        return fitting[0]
    raise BadInput(
        Problem(
            f"{name}: {len(fitting)} runs begin with it"
            if fitting
            else (f"there is no run named {name} here" if ids else "there are no runs here yet"),
            why=("they are " + ", ".join(fitting[:8])) if fitting else "",
            do="allranks ps lists the runs" if ids else "start one: allranks run FILE",
        )
    )


def directory_here(run_id: str) -> RunDirectory:
    """The run's directory, if this machine is its head. Otherwise raises BadInput with the head's name."""
    directory = RunDirectory(run_id)
    if Path(directory.marker).is_file():
        return directory
    head = (launch_record.nodes_of(entry(run_id)) or ["another machine"])[0]
    raise BadInput(
        Problem(
            f"{run_id} is on {head}, not on this machine",
            why="its logs, checkpoints and report are read on the machine that has them.",
            do=f"the same command on {head}; allranks logs {run_id} and allranks report {run_id} work from here",
        )
    )


async def adopt(file: str) -> str:
    """Asks the head of a run file for its runs and puts them into this machine's index; returns the newest id.

    With a launcher that has a queue the nodes are known only while the job runs, so the index alone is asked.
    """
    run = load(file)
    if run.launcher.queue is not None:
        return started_here(run)
    nodes = open_nodes(run)
    try:
        told = await nodes[run.cluster.head.name].call("read", "runs")
    finally:
        await nodes.close()
    known = {entry.get("id"): str(entry.get("file") or "") for entry in entries()}
    named = [paths.checked_name(str(one["id"]), "run") for one in told["runs"] if one.get("name") == run.name]
    # Before 2026-11-29 an entry had the path as it was typed, which does not say which file it was.
    mine = [n for n in named if known.get(n) == whole_path(run) or not known.get(n, "").startswith("/")]
    if not mine:
        problem = Problem(
            f"{file}: {run.cluster.head.name} has no run of the name {run.name}",
            why=_others(named, told["runs"]),
            do="name the run by its id" if named else "allranks run FILE starts one",
        )
        raise BadInput(problem)
    for run_id in mine:
        if run_id not in known:
            remember(run_id, run)
    return mine[0]


def _others(named: Sequence[str], runs: Sequence[Any]) -> str:
    """The runs that a head has, none of which is of the run file that was named."""
    if named:
        return f"{', '.join(named[:8])} has this name, but was started from another file."
    return f"it has {len(runs)} runs of other names." if runs else ""


def started_here(run: Run) -> str:
    """The newest run that was started from here with this run's file and name. Raises BadInput if there is none."""
    for one in entries():
        if (one.get("file"), one.get("name")) == (whole_path(run), run.name):
            return str(one["id"])
    raise BadInput(
        Problem(
            f"{run.file}: no run of it was started from this machine",
            why=f"{run.launch.with_} gives it nodes only while its job runs, so no other machine can be asked.",
            do="allranks ps lists the runs that are known here; allranks run FILE starts one",
        )
    )


def nodes_of(run_id: str) -> Nodes:
    """The nodes of a run that was started from here; only this machine if the run is on it."""
    known = entry(run_id)
    if known.get("waiting"):
        problem = Problem(
            f"{run_id} has no nodes: job {known.get('address')} waits in its queue",
            do=f"allranks ps shows its reason; allranks stop {run_id} gives the job back",
        )
        raise BadInput(problem)
    described = known.get("nodes") or [HERE.as_json()]
    nodes = [
        Node(d["name"], d["address"], int(d["rank"]), port=d.get("port"), user=d.get("user"))
        for d in described
    ]
    transport = str(known.get("transport") or "asyncssh")
    user, address = known.get("user"), known.get("address")
    return reached(nodes, known.get("launch", launchers.LOCAL), user, transport=transport, address=address)


@contextlib.asynccontextmanager
async def connected(run_id: str) -> AsyncIterator[Nodes]:
    """The nodes of a run. Their connections are closed at the end."""
    nodes = nodes_of(run_id)
    try:
        yield nodes
    finally:
        await nodes.close()


@contextlib.asynccontextmanager
async def connected_head(run_id: str) -> AsyncIterator[NodeProgram]:
    """The head of a run. Its connection is closed at the end."""
    async with connected(run_id) as nodes:
        yield next(iter(nodes.programs.values()))
