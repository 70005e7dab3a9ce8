"""The image of a run: the head resolves its tag once, and every node uses exactly that image."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from allranks.prepare import apptainer, engine
from allranks.prepare.failures import blocked, engine_failed, last_words
from allranks.transport import Completed, NodeProgram

PULL_SECONDS = 3600.0
"""A training image has 10 to 30 GB; at 100 Mbit/s 30 GB take 40 minutes."""

ASK_SECONDS = 30.0

Step = Callable[[str], None]
"""A function that gets a description of the current step on a node, if the step may take long."""


def unsaid(what: str) -> None:
    """A `Step` that ignores its argument."""


@dataclass(frozen=True)
class Image:
    """`asked` is what the run file names, `reference` what every node uses: `name@sha256:…`, or the image's id
    if no registry gave it a digest. `identity` is the id that the head's engine gives it: that of its configuration, or
    with containerd's store that of its manifest."""

    asked: str
    reference: str
    identity: str

    @property
    def is_pinned(self) -> bool:
        """Whether other nodes can pull it by its digest."""
        return "@sha256:" in self.reference


async def resolve(program: NodeProgram, tool: str, asked: str, step: Step = unsaid) -> Image:
    """The image that the name `asked` refers to now, on the head. Raises NotReady and Unreachable."""
    found = await inspect(program, tool, asked)
    if found is None:
        found = await fetch(program, tool, asked, step)
    return Image(asked, pinned(asked, found), identity(found))


async def ensure(program: NodeProgram, tool: str, image: Image, step: Step = unsaid) -> Image:
    """Makes sure that one node has this image. Raises NotReady if the node has another one, or cannot get it."""
    found = await inspect(program, tool, image.reference)
    if found is None and image.is_pinned:
        found = await fetch(program, tool, image.reference, step)
    if found is None:
        raise blocked(
            "image-missing",
            program.node,
            f"{program.node} does not have the image {image.asked} ({short(image.identity)}) that the head has, "
            "and no registry gave it a digest",
            expected="the same image on every node",
            why="no container can be made there.",
            fix=f"on the head: {tool} save {image.asked} | ssh {program.node} {tool} load; or push it to a registry",
        )
    if (
        not image.is_pinned and identity(found) != image.identity
    ):  # one digest is one image, and may have several ids
        raise blocked(
            "image-differs",
            program.node,
            f"{image.asked} is {short(identity(found))} on {program.node}, {short(image.identity)} on the head",
            expected="one image on every node",
            why="its ranks would run other versions than the others'.",
            fix=f"name the image by its digest in container.image, or pull it again on {program.node}",
        )
    return image


async def inspect(program: NodeProgram, tool: str, name: str) -> dict[str, Any] | None:
    """The engine's description of an image on the node; None if it has no image of this name."""
    argv = engine.inspect_image(tool, name)
    done = await program.transport.run(argv, timeout_seconds=ASK_SECONDS)
    if done.code == 0:
        found = first_object(done)
        if found:
            return found
    elif says_missing(done):
        return None
    raise engine_failed(program.node, argv, done)


async def fetch(program: NodeProgram, tool: str, name: str, step: Step = unsaid) -> dict[str, Any]:
    step(f"{tool} pull {name}")
    done = await program.transport.run(engine.pull(tool, name), timeout_seconds=PULL_SECONDS)
    found = await inspect(program, tool, name) if done.code == 0 else None
    if found is None:
        raise blocked(
            "image-not-pulled",
            program.node,
            f"{program.node} cannot pull {name}: {last_words(done)}",
            expected="the image on the node, or a registry that gives it",
            why="no container can be made there.",
            fix=f"{tool} pull {name} on {program.node} shows the same; log in to the registry there, or load the "
            f"image from a file: {tool} load -i FILE",
        )
    return found


async def built(program: NodeProgram, asked: str, step: Step = unsaid) -> Image:
    """The image that Apptainer builds from a registry's image: once per node, or once for nodes that share allranks'
    home. `asked` itself if it is a file. Raises NotReady with Apptainer's error message."""
    reference = apptainer.image(asked)
    if "://" not in reference:
        return Image(asked, asked, asked)
    step(f"apptainer pull {reference}")
    answer = await program.call("image", stdin={"reference": reference}, timeout_seconds=PULL_SECONDS)
    path, reason = answer.get("path"), answer.get("reason")
    if path:
        return Image(asked, str(path), f"sha256:{answer.get('sha256')}")
    raise blocked(
        "image-not-pulled",
        program.node,
        f"{program.node} cannot build {reference}: {reason}",
        expected="Apptainer, and a registry that gives the image",
        why="no container can be made there.",
        fix=f"apptainer pull {reference} on {program.node} shows the same; or build it elsewhere and name the file: "
        "image: /shared/image.sif",
    )


def says_missing(done: Completed) -> bool:
    text = done.err.lower()
    return b"no such image" in text or b"image not known" in text or b"no such object" in text


def first_object(done: Completed) -> dict[str, Any]:
    """The first object of the list that `inspect` prints; empty if it is none."""
    try:
        data = json.loads(done.out)
    except ValueError:
        return {}
    first = data[0] if isinstance(data, list) and data else data
    return first if isinstance(first, dict) else {}


def identity(found: dict[str, Any]) -> str:
    """The id of the image's configuration, with `sha256:` before it: podman leaves that out."""
    text = str(found.get("Id", ""))
    return text if ":" in text else f"sha256:{text}"


def pinned(asked: str, found: dict[str, Any]) -> str:
    """`name@sha256:…` as the registry of `asked` gave it; the id if none did."""
    if "@sha256:" in asked:
        return asked
    digests = [str(entry) for entry in found.get("RepoDigests") or []]
    name = without_tag(asked)
    own = [entry for entry in digests if same_name(entry.partition("@")[0], name)]
    return own[0] if own else identity(found)


def same_name(one: str, other: str) -> bool:
    """docker leaves `docker.io/` and `library/` out where podman writes them."""
    return one == other or one.endswith("/" + other) or other.endswith("/" + one)


def without_tag(asked: str) -> str:
    """`registry:5000/name:tag` → `registry:5000/name`: a colon after the last slash begins a tag."""
    head, slash, last = asked.rpartition("/")
    return head + slash + last.partition(":")[0]


def short(identity: str) -> str:
    """As the engines print it."""
    return identity.partition(":")[2][:12] or identity
