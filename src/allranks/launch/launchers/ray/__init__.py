"""Ray: a job whose actors, one per machine, hold the nodes' resources and start the supervisors.

`words` makes the job, `driver` is the program that it runs, `nodes` asks a cluster for its machines, `rendering`
writes the job for `plan --render`. The programs that run on the nodes themselves are in `node/ray_*.py`.
"""

from __future__ import annotations

from typing import Any

from allranks.launch.launchers.ray import rendering
from allranks.spec import Run
from allranks.spec.launchers import Launcher


async def begin(*given: Any) -> Any:
    from allranks.launch.launchers.ray import words

    return await words.begin(*given)


async def nodes_of(run: Run) -> Run:
    from allranks.launch.launchers.ray.nodes import chosen

    return await chosen(run)


SHARED = "ray status on the cluster; launch: {with: ray} without address brings a cluster of the run's own"
LAUNCHER = Launcher(
    name="ray",
    starts_python=True,
    says="A Ray job on the cluster at `launch.address`, or on one that the run brings.",
    keys=("address",),
    program="ray",
    on_every_node=True,
    needs_program=lambda launch: launch.address is None,  # a running cluster has its own Ray
    chooses_nodes=True,
    nodes_of=nodes_of,
    notices=True,
    begin=begin,
    stays=True,
    failures=(
        (r"^ray: .*answered 40[13]", "the cluster refuses the token", "export RAY_AUTH_TOKEN"),
        (r"^ray: no answer from", "nothing answers at launch.address from the head node", SHARED),
        (r"^ray: .*no Ray dashboard", "what answers there is not a Ray dashboard", SHARED),
        (r"no living node of this Ray cluster", "it is not in the cluster", SHARED),
        (r"no room", "the cluster has no room for it", SHARED),
        (
            r"Ray runs there as user|Permission denied",
            "Ray runs as another user",
            "start Ray as the run's user",
        ),
        (r"its actor did not begin", "its actor did not start", "ray logs on that node"),
        (r"^ray: ", "the job did not start the supervisors", "ray job logs shows the rest"),
        (
            r"^\S+: .*(No such file|No space left|Read-only)",
            "the run's folder cannot be used there",
            "ALLRANKS_HOME",
        ),
    ),
    render=rendering.render,
)
