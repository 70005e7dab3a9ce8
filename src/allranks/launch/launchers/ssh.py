"""The controller starts each node's supervisor over its own SSH connection. The nodes need no further software."""

from __future__ import annotations

from typing import Any

from allranks.spec.launchers import Launcher


def render(job: Any) -> Any:
    """torchrun's scripts, whose README starts them over SSH. Imported here, not above, since every run file loads
    this launcher."""
    from allranks.launch.launchers import torchrun

    return torchrun.render(job)


LAUNCHER = Launcher(
    name="ssh",
    says="A login on each node; it becomes `local` if every node is this machine.",
    here="local",
    render=render,
)
