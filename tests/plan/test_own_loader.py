"""What `environment: {loader: own}` changes in a plan: host memory, reading, sending."""

from __future__ import annotations

from allranks.plan import make_plan
from allranks.spec import Container, Environment
from tests.plan.published import V3
from tests.plan.test_budget import seeds_run

SIZE = 2 * 671_026_404_352
NEW = Container("docker", "image", pip=("transformers==5.6.0", "deepspeed==0.19.8"))
OWN = Environment(loader="own")


def test_all_ranks_together_read_the_base_once_and_nothing_is_sent() -> None:
    for container in (NEW, None):
        changes = {"container": container} if container else {}
        stock = make_plan(seeds_run(**changes), V3).traffic["first_step"]
        own = make_plan(seeds_run(environment=OWN, **changes), V3).traffic["first_step"]
        assert own["sending_seconds"] == 0.0
        fixed = own["processes_seconds"] + (own["step_seconds"] or 0.0)
        seconds = {name: told - fixed for name, told in own["seconds"].items()}
        assert round(seconds["one NFS server at 1 GB/s"]) == round(SIZE / 1e9)
        assert round(seconds["local NVMe at 5 GB/s"]) == round(SIZE / 3 / 5e9)  # a node's third
        assert own["seconds"]["one NFS server at 1 GB/s"] < stock["seconds"]["one NFS server at 1 GB/s"]
