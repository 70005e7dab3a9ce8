from tests.checks.case import fires, silent
from tests.checks.cases.container_engine import IN_DOCKER

CASES = (
    fires(
        "a100",
        {**IN_DOCKER, "node-1/driver/container_toolkit": None},
        node="node-1",
        verdict="block",
        also=("environment-in-image",),  # said of every image
    ),
    silent("a100", IN_DOCKER),
    silent("a100"),
)
