"""A path of the run is not in any mount of its container.

## How it is found
`save.to`, the model and the dataset's folder of a run in a container, against `container.mounts`.

## Why it matters
Files saved outside the mounts go to the container's writable layer. They fill the host's image store (up to 53 GB
per rank were reported) and are lost with the container. A model or dataset outside them is not there at all,
unless the image brings it.

## What to do
Mount its folder (`container: {mounts: ["/home/ubuntu:/host_home"]}`), or name a path inside a mount.

## Source
docker run reference, `--volume`; the experience of the runs that this project comes from.

Topic: storage
"""

from __future__ import annotations

from allranks.checks.context import Context, Findings
from allranks.checks.fact_request import path_on_node
from allranks.checks.phrases import listed


def applies(context: Context) -> bool:
    return context.run.container is not None


def check(context: Context) -> Findings:
    arguments = context.arguments
    wanted = (
        ("save.to", context.run.save.to, True),
        ("train.llamafactory.model_name_or_path", arguments.get("model_name_or_path"), False),
        ("train.llamafactory.dataset_dir", arguments.get("dataset_dir"), False),
    )
    mounts = context.run.container.mounts if context.run.container else ()
    for key, path, written in wanted:
        if isinstance(path, str) and path.startswith("/") and path_on_node(context.run, path) is None:
            say = context.block if written else context.warn
            yield say(
                key,
                saw=f"{path} is in no mount of the container, which are {listed(mounts) or 'none'}",
                expected="a path inside a mount",
                why="what is saved there is lost with the container, and fills the host's image store until then."
                if written
                else "it is there only if the image brings it.",
                fix=f'container: {{mounts: ["/a/folder/of/the/host:{path}"]}}',
            )
