"""The bare way with Ray, by hand: one task per machine (STRICT_SPREAD), which runs that node's torchrun."""

import os
import subprocess
import sys

import ray
from ray.util.placement_group import placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

script, out, tiny, port, *hosts = sys.argv[1:]
ray.init(address="auto")
group = placement_group([{"CPU": 1, f"node:{host}": 0.001} for host in hosts], strategy="STRICT_SPREAD")
ray.get(group.ready())


@ray.remote(num_cpus=1)
def node(rank):
    env = {**os.environ, "RANK": str(rank), "MASTER": hosts[0], "PORT": port}
    return subprocess.run(["bash", script, out, tiny], env=env).returncode


placed = [PlacementGroupSchedulingStrategy(group, placement_group_bundle_index=i) for i in range(len(hosts))]
codes = ray.get([node.options(scheduling_strategy=where).remote(rank) for rank, where in enumerate(placed)])
sys.exit(max(codes))
