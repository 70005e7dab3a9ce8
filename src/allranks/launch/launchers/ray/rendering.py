"""A Ray job: a placement group over as many machines as nodes, an actor on each, which starts its torchrun."""

from __future__ import annotations

import json
from collections.abc import Mapping

from allranks.launch.scripts import _shell
from allranks.launch.scripts._job import SCRIPT, File, ScriptJob
from allranks.launch.scripts._phrases import bash
from allranks.launch.scripts._readme import readme
from allranks.spec import Run

JOB = '''"""Starts one torchrun per node on a Ray cluster: `ray job submit --working-dir . -- python job.py`."""

import ctypes
import json
import os
import signal
import subprocess
import sys

import ray
from ray.util.placement_group import placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

HERE = os.path.dirname(os.path.abspath(__file__))
PR_SET_PDEATHSIG = 1


def end_with_parent():
    """When Ray ends the actor, the kernel sends SIGTERM to what it started."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


@ray.remote
class Node:
    def address(self):
        return ray.util.get_node_ip_address()

    def run(self, number, head):
        """The exit code of this node's torchrun. Ray sends its output on with the node's name."""
        words = ["bash", os.path.join(HERE, "start.sh"), str(number), head]
        return subprocess.run(words, preexec_fn=end_with_parent).returncode


def machine_of(node):
    """The resource that ties an actor to this machine; none where Ray chooses."""
    if node["host"] is None:
        return {}
    for machine in ray.nodes():
        address = machine["NodeManagerAddress"]
        if machine["Alive"] and node["host"] in (address, machine["NodeManagerHostname"]):
            return {"node:" + address: 0.001}
    sys.exit(node["host"] + " is not a living node of this Ray cluster")


def main():
    with open(os.path.join(HERE, "nodes.json"), encoding="utf-8") as file:
        nodes = json.load(file)
    ray.init(address="auto")
    for node in nodes:
        node["machine"] = machine_of(node)
    bundles = [{"CPU": 1, **({"GPU": n["gpus"]} if n["gpus"] else {}), **n["machine"]} for n in nodes]
    group = placement_group(bundles, strategy="STRICT_SPREAD")
    ray.get(group.ready())
    actors = [
        Node.options(
            num_cpus=1,
            num_gpus=node["gpus"],
            resources=node["machine"],
            scheduling_strategy=PlacementGroupSchedulingStrategy(group, placement_group_bundle_index=number),
        ).remote()
        for number, node in enumerate(nodes)
    ]
    head = ray.get(actors[0].address.remote())
    waiting = {actor.run.remote(number, head): number for number, actor in enumerate(actors)}
    while waiting:
        [done], _ = ray.wait(list(waiting), num_returns=1)
        number = waiting.pop(done)
        code = ray.get(done)
        if code != 0:
            # The job's end ends the other actors, and with them their torchruns.
            sys.exit(f"node {number}: torchrun ended with {code}")


if __name__ == "__main__":
    main()
'''


def render(job: ScriptJob) -> Mapping[str, File]:
    _shell.no_sweep(job, "ray")
    _shell.one_machine_each(job, "ray")
    if not job.run.nodes_known:
        _shell.no_own_environment(job, "ray")
    how = "```sh\n./submit.sh\n```\n\nIt hands this folder to Ray, which copies it to every node (`--working-dir`).\n"
    if job.run.secrets:
        how += (
            "\nActors inherit the environment of `ray start` on their node: export the secrets there. Ray "
            "stores and shows everything that `ray job submit` gets, so they are not sent with the job.\n"
        )
    return {
        "job.py": File(JOB),
        "nodes.json": File(nodes(job)),
        "submit.sh": File(submit(job), SCRIPT),
        "start.sh": File(start(job), SCRIPT),
        **_shell.common_files(job),
        **readme(job, "Ray", how),
    }


def nodes(job: ScriptJob) -> str:
    """The needs of each actor: its GPUs, and its machine if the run file names it."""
    known = job.run.nodes_known
    rows = [
        {"name": n.name, "host": n.address if known else None, "gpus": n.gpus if job.uses_gpu else 0}
        for n in job.nodes
    ]
    return json.dumps(rows, indent=2) + "\n"


def submit(job: ScriptJob) -> str:
    dashboard = dashboard_of(job.run)
    words = [*([f"--address {bash(dashboard)}"] if dashboard else []), "--working-dir ."]
    words += [bash(word) for word in job.extra("ray")]
    text = _shell.start("Hands the job to Ray.") + 'cd -- "$here"\nexec ray job submit '
    return text + " \\\n  ".join([*words, "-- python job.py"]) + "\n"


def dashboard_of(run: Run) -> str | None:
    """The URL of `launch.address`, where Ray's job API listens; None for `auto` and without an address."""
    address = run.launch.address
    if address is None or address == "auto":
        return None
    if address.startswith("-") or "://" in address:
        what = f"launch.address: {address!r}."
        raise run.refuse("launch.address", what, "it is host:port or auto.", "such as 10.0.0.1:8265")
    return f"http://{address}"


def start(job: ScriptJob) -> str:
    text = _shell.start("start.sh NODE HEAD: one node's torchrun, started by an actor of job.py.") + (
        "self=$here/start.sh\nnode=$1\nhead=$2\n"
    )
    if job.run.nodes_known:
        sizes = " ".join(str(node.gpus) for node in job.nodes)
        text += f"sizes=({sizes})\nsize=${{sizes[node]}}\n"
    text += _shell.SOURCE_COMMON + "\n"
    return text + _shell.command(torchrun(job))


def torchrun(job: ScriptJob) -> list[str]:
    """The torchrun command. If the nodes are known, each one has its own number of GPUs; machines that Ray chooses
    must be equal."""
    if not job.run.nodes_known:
        _shell.same_gpus(job, "ray")
        return job.torchrun(job.nodes[0], node_rank="node", master_addr="head")
    return job.torchrun(job.nodes[0], node_rank="node", master_addr="head", nproc_per_node="size")
