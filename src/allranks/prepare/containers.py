"""The container of each node: found again, or made again if its description changed; never somebody else's.

A container is allranks' own if its labels name this node and its allranks home. Any other container of the same name is
reported and left alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from allranks.core import BadInput, Facts, Node, Problem
from allranks.prepare import apptainer, engine, login
from allranks.prepare.container_commands import Contained
from allranks.prepare.container_processes import LIVING, described
from allranks.prepare.description import LABEL, OURS, WRITABLE, Description, Mount, container_name
from allranks.prepare.failures import NotReady, blocked, engine_failed, last_words
from allranks.prepare.images import Image, Step, first_object, short, unsaid
from allranks.spec import Run
from allranks.transport import Completed, NodeProgram, Unreachable

ASK_SECONDS = 60.0
CREATE_SECONDS = 1800.0
"""Rootless podman first copies a large image with the user's ids. Issues `podman#20845` and `podman#26479` report
minutes."""

LATE_LOOKS, LATE_SECONDS = 5, 1.0
"""How often a container is looked for whose making was cut. An idle one ends by itself in any case."""

PIP_SECONDS = 1800.0
"""transformers and torch from an index over a slow line; offline wheels take seconds."""


async def describe(run: Run, node: Node, program: NodeProgram, facts: Facts, image: Image) -> Description:
    """The container that this run wants on a node, with the node's own folders and user in it."""
    container = run.container
    assert container is not None
    refuse_extra(run)
    home = str(facts.get("system.allranks_home"))
    user = facts.get("system.user") or {}
    uid = int(user.get("uid", 0))
    identity = await answer_of(program, ["id", "-g"])
    user_home = await answer_of(program, ["printenv", "HOME"])
    return Description(
        engine=container.engine,
        image=image.reference,
        name=container_name(run.name, node.name, home),
        node=node.name,
        home=home,
        user=f"{uid}:{identity}",
        user_name=login.name_of(user.get("name")),
        groups=tuple(group for group in user.get("groups") or () if str(group) != identity) if uid else (),
        mounts=tuple(Mount.read(text, user_home) for text in container.mounts),
        shm_bytes=container.shm_bytes,
        gpus=bool(facts.get("gpus.list")) and not run.on_cpu,
        infiniband=bool(facts.get("infiniband.verbs")),
        python=run.environment.python or "python3",
        pip=container.pip,
        wheels=container.wheels,
        extra=dict(container.extra),
    )


def refuse_extra(run: Run) -> None:
    """Raises BadInput for options of the engine that ownership rests on, and for what apptainer cannot do."""
    container = run.container
    assert container is not None
    problems = []
    for key in container.extra:
        if str(key).lstrip("-") in OURS:
            why = "by it allranks knows its own containers and ends them."
            problems.append(("container.extra", f"container.extra: allranks sets {key} itself", why))
    if container.engine == "apptainer" and container.pip:
        why = "its images are read-only: pip would install into the home folder, for every other run too."
        problems.append(("container.pip", "container.pip with apptainer", why))
    for text in container.mounts if container.engine == "apptainer" else ():
        mount = Mount.read(text, "")
        if "," in mount.source + mount.target:
            why = "apptainer takes the comma for the end of the folder's name."
            problems.append(("container.mounts", f"container.mounts: {text} has a comma", why))
    if problems:
        raise BadInput(
            Problem(saw, why=why, do="take it out", file=run.file, line=run.line(key))
            for key, saw, why in problems
        )


async def answer_of(program: NodeProgram, argv: list[str]) -> str:
    """One line that a basic program of the node prints."""
    return (await call(program, argv)).out.decode("utf-8", "replace").strip()


async def call(program: NodeProgram, argv: list[str]) -> Completed:
    done = await program.transport.run(argv, timeout_seconds=ASK_SECONDS)
    if done.code != 0:
        raise engine_failed(program.node, argv, done)
    return done


# ---- making ready ----


async def ready(
    program: NodeProgram, wanted: Description, image: Image, run_id: str, step: Step = unsaid
) -> Contained:
    """A running container that is as described; `made` says whether it was made now.

    Raises NotReady (a foreign one has the name, it is busy, it cannot be made) and Unreachable.
    """
    contained = Contained(
        engine=wanted.engine,
        container=wanted.name,
        name=wanted.name,
        node=wanted.node,
        home=wanted.home,
        run=run_id,
        image=image.asked,
        reference=image.reference,
        description=wanted.digest(),
        python=wanted.python,
    )
    await call(program, ["mkdir", "-p", "-m", "0700", *(f"{wanted.home}/{name}" for name in WRITABLE)])
    if wanted.engine == "apptainer":
        step(f"an apptainer instance of {image.reference}")
        name = instance_name(wanted.name, run_id)
        wanted, contained = replace(wanted, name=name), replace(contained, name=name, container=name)
        return await instance_ready(program, wanted, contained)
    found = await inspect(program, wanted.engine, wanted.name)
    if found is not None:
        refuse_foreign(found, wanted)
        contained = replace(contained, container=str(found["Id"]), made=False)
        if labels_of(found).get(f"{LABEL}.description") == contained.description:
            await call(program, engine.begin(contained.engine, contained.container))
            await refuse_busy(program, contained)
            if await is_whole(program, contained):
                return contained
        elif is_running(found):
            await refuse_busy(program, contained)
        await call(program, engine.remove(wanted.engine, contained.container))
    return await make(program, wanted, contained, run_id, step)


async def make(
    program: NodeProgram, wanted: Description, contained: Contained, run_id: str, step: Step
) -> Contained:
    step(f"a {wanted.engine} container of {contained.image}")
    try:
        done = await program.transport.run(engine.create(wanted, run_id), timeout_seconds=CREATE_SECONDS)
    except BaseException:
        # After Ctrl-C or a time-out the engine may still make the container, and no record names it yet.
        with contextlib.suppress(NotReady, Unreachable):
            await remove_if_made(program, wanted, run_id, LATE_LOOKS)
        raise
    if done.code != 0:
        # docker leaves a container that could not start. It has this run's label, so allranks may remove it.
        await remove_if_made(program, wanted, run_id)
        raise not_made(wanted, done)
    made = replace(contained, container=done.out.decode().strip().splitlines()[-1], made=True)
    try:
        if login.is_needed(wanted):
            await call(
                program,
                engine.execute(wanted.engine, made.container, login.entry(wanted), user="0", workdir="/"),
            )
        if wanted.pip:
            step(f"pip install {' '.join(wanted.pip)}")
            await install(program, wanted, made)
        mark = engine.execute(wanted.engine, made.container, ("touch", engine.MARK), user="0")
        await call(program, mark)
    except BaseException:
        await program.transport.run(engine.remove(wanted.engine, made.container))
        raise
    return made


async def install(program: NodeProgram, wanted: Description, made: Contained) -> None:
    argv = engine.execute(wanted.engine, made.container, tuple(engine.install(wanted)), user="0", workdir="/")
    done = await program.transport.run(argv, timeout_seconds=PIP_SECONDS)
    if done.code != 0:
        raise blocked(
            "container-pip-failed",
            wanted.node,
            f"pip install {' '.join(wanted.pip)} fails in the container on {wanted.node}: {last_words(done)}",
            expected="the packages of container.pip",
            why="its ranks would run the image's own versions, or end at an import.",
            fix="fix the error of pip; without a network on the nodes: container: {wheels: a folder of wheels}",
        )


def not_made(wanted: Description, done: Completed) -> NotReady:
    text = last_words(done)
    fix = f"fix the error of {wanted.engine}; `allranks run -n` prints the command"
    if f'exec: "{wanted.python}"' in text:
        fix = f"environment: {{python: the image's Python}}; the image has no {wanted.python}"
    elif "nvidia-container" in text:
        fix = f"install the NVIDIA Container Toolkit on {wanted.node}, and restart {wanted.engine}"
    elif "bind source path does not exist" in text or "no such file or directory" in text.lower():
        fix = f"make the folder on {wanted.node}, or correct container.mounts"
    return blocked(
        "container-not-made",
        wanted.node,
        f"{wanted.engine} cannot make the container on {wanted.node}: {text}",
        why="no rank can run there.",
        fix=fix,
    )


# ---- looking ----


async def inspect(program: NodeProgram, tool: str, name: str) -> dict[str, Any] | None:
    """The engine's description of a container; None if there is no such container. Raises NotReady if the engine
    fails."""
    argv = engine.inspect(tool, name)
    done = await program.transport.run(argv, timeout_seconds=ASK_SECONDS)
    if done.code == 0:
        found = first_object(done)
        if found.get("Id"):
            return found
    elif b"no such container" in done.err.lower():
        return None
    raise engine_failed(program.node, argv, done)


def labels_of(found: Mapping[str, Any]) -> Mapping[str, Any]:
    config = found.get("Config")
    labels = config.get("Labels") if isinstance(config, Mapping) else None
    return labels if isinstance(labels, Mapping) else {}


def is_running(found: Mapping[str, Any]) -> bool:
    state = found.get("State")
    return bool(isinstance(state, Mapping) and state.get("Running"))


def is_ours(found: Mapping[str, Any], home: str, node: str) -> bool:
    """Whether this user's allranks made the container: its labels must name this home and this node. The home is the
    user's own folder on this node, so no other user's container has the same labels."""
    labels = labels_of(found)
    return labels.get(f"{LABEL}.home") == home and labels.get(f"{LABEL}.node") == node


def refuse_foreign(found: Mapping[str, Any], wanted: Description) -> None:
    if is_ours(found, wanted.home, wanted.node):
        return
    raise blocked(
        "container-foreign",
        wanted.node,
        f"a container of the name {wanted.name} is on {wanted.node} that this allranks did not make "
        f"({short('id:' + str(found.get('Id')))})",
        expected="no container of that name, or our own",
        why="it is somebody else's, so it is neither used nor removed.",
        fix=f"ask who made it ({wanted.engine} inspect {wanted.name}), or give the run another name",
    )


async def refuse_busy(program: NodeProgram, contained: Contained) -> None:
    living = await living_in(program, contained)
    if living:
        raise blocked(
            "container-busy",
            contained.node,
            f"{described(living)} in the container {contained.name} on {contained.node}",
            expected="an idle container",
            why="another run of this file is in it, or somebody works there by hand.",
            fix="allranks ps, then allranks stop RUN; or give the run another name",
        )


async def living_in(program: NodeProgram, contained: Contained) -> list[tuple[int, str]]:
    """The processes in a running container besides its first one, as (pid inside, name)."""
    argv = contained.execute([contained.python, "-I", "-S", "-c", LIVING])
    done = await call(program, argv)
    found = json.loads(done.out or b"[]")
    return [(int(pid), str(name)) for pid, name in found]


async def is_whole(program: NodeProgram, contained: Contained) -> bool:
    """Whether its preparation succeeded. A controller that was killed leaves a container without the mark."""
    done = await program.transport.run(contained.execute(["test", "-e", engine.MARK]))
    return done.code == 0


# ---- ending ----


async def remove_if_made(program: NodeProgram, wanted: Description, run_id: str, looks: int = 1) -> None:
    """Removes the container that this run has just made, but not another run's. Two starts of one run file use the same
    name: the container of the other start has the label of another run, and may still run."""
    for left in reversed(range(looks)):
        found = await inspect(program, wanted.engine, wanted.name) or {}
        if is_ours(found, wanted.home, wanted.node) and labels_of(found).get(f"{LABEL}.run") == run_id:
            await program.transport.run(engine.remove(wanted.engine, str(found["Id"])))
            return
        await asyncio.sleep(LATE_SECONDS if left else 0)


async def still_ours(program: NodeProgram, contained: Contained) -> dict[str, Any] | None:
    """The container of a run's record, found by its id and confirmed by its labels; None if it no longer exists.

    An engine never gives an id twice, so other labels mean that the record is wrong. The result is None then too, and
    nothing is touched.
    """
    found = await inspect(program, contained.engine, contained.container)
    if found is None or str(found.get("Id")) != contained.container:
        return None
    return found if is_ours(found, contained.home, contained.node) else None


LEAVING_TRIES, LEAVING_SECONDS = 10, 0.5
"""A supervisor lives for a moment after its last message. allranks looks again after some time, so that it does not
take the supervisor for somebody else's process."""


async def stop(program: NodeProgram, contained: Contained) -> list[tuple[int, str]]:
    """Ends the container if this allranks made it and it is idle. Processes of another run or of another user keep it
    running; the list of them is returned."""
    if contained.engine == "apptainer":
        await end_instance(program, contained)
        return []
    found = await still_ours(program, contained)
    if found is None or not is_running(found):
        return []
    living = await living_in(program, contained)
    for _ in range(LEAVING_TRIES):
        if not living:
            break
        await asyncio.sleep(LEAVING_SECONDS)
        living = await living_in(program, contained)
    if not living:
        await call(program, engine.end(contained.engine, contained.container))
    return living


async def remove(program: NodeProgram, contained: Contained) -> bool:
    """Removes the container if this allranks made it and no process runs in it; raises NotReady if one does."""
    if contained.engine == "apptainer":
        return await end_instance(program, contained)
    found = await still_ours(program, contained)
    if found is None:
        return False
    if is_running(found):
        await refuse_busy(program, contained)
    await call(program, engine.remove(contained.engine, contained.container))
    return True


# ---- apptainer ----


def instance_name(name: str, run_id: str) -> str:
    """An instance has no label that says whose it is, so its name contains the run's id: cleaning an old run must
    not end a new one of the same file."""
    return f"{name}-{hashlib.sha256(run_id.encode()).hexdigest()[:8]}"


async def instance_ready(program: NodeProgram, wanted: Description, contained: Contained) -> Contained:
    """Starts a new instance. An old one is never used again: a start takes less than a second, and an instance holds
    nothing that could be lost."""
    if await instance(program, wanted.name) is not None:
        raise blocked(
            "container-busy",
            wanted.node,
            f"an apptainer instance {wanted.name} runs on {wanted.node}",
            expected="none of this name",
            why="this run is in it, or it was left.",
            fix=f"allranks ps, then allranks stop RUN; or on {wanted.node}: apptainer instance stop {wanted.name}",
        )
    try:
        done = await program.transport.run(apptainer.create(wanted), timeout_seconds=PIP_SECONDS)
    except BaseException:
        # After Ctrl-C or a time-out it may run, and no record names it yet.
        with contextlib.suppress(NotReady, Unreachable):
            await end_instance(program, contained)
        raise
    if done.code != 0:
        raise not_made(wanted, done)
    return contained


async def instance(program: NodeProgram, name: str) -> dict[str, Any] | None:
    done = await call(program, apptainer.listing())
    listed = first_object(done).get("instances") or []
    return next((one for one in listed if isinstance(one, dict) and one.get("instance") == name), None)


async def end_instance(program: NodeProgram, contained: Contained) -> bool:
    """Ends the instance; returns whether there was one. It cannot be another run's: the listing has only the user's own
    instances, and the name contains digests of this home, the run's id and the node."""
    if await instance(program, contained.name) is None:
        return False
    await call(program, apptainer.end(contained.name))
    return True
