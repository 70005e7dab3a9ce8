"""Containers would see no GPU: NVIDIA's container toolkit is missing.

## How it is found
On nodes with GPUs, with Docker or Podman: whether `nvidia-ctk` or `nvidia-container-cli` is there.

## Why it matters
`docker run --gpus all` ends with "could not select device driver with capabilities: [[gpu]]".

## What to do
Install `nvidia-container-toolkit`, then `nvidia-ctk runtime configure --runtime=docker` and restart Docker. Apptainer
does not need it (`--nv`).

## Source
NVIDIA Container Toolkit documentation, "Installing"; docker run reference, `--gpus`.

Topic: gpus
"""

from __future__ import annotations

from allranks.checks.context import Context, Findings

NEEDS = ("driver.container_toolkit",)


def applies(context: Context) -> bool:
    container = context.run.container
    return container is not None and container.engine in ("docker", "podman") and context.uses_gpu


def check(context: Context) -> Findings:
    for view in context.machines:
        if (
            view.list("gpus.list")
            and view.has("driver.container_toolkit")
            and not view.get("driver.container_toolkit")
        ):
            yield context.block(
                view,
                key="container.engine",
                saw=f"NVIDIA's container toolkit is not installed on {view.name}",
                expected="nvidia-ctk, which gives GPUs to containers",
                why="the container would not start: could not select device driver with capabilities gpu.",
                fix=f"on {view.name}: install nvidia-container-toolkit, nvidia-ctk runtime configure",
            )
