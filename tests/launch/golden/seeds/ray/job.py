"""Starts one torchrun per node on a Ray cluster: `ray job submit --working-dir . -- python job.py`."""

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
