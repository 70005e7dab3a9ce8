from tests.checks.case import fires, silent
from tests.checks.cases.container_engine import IN_DOCKER

CASES = (
    fires("a100", {**IN_DOCKER, "run/save/to": "/output"}, verdict="block", also=("environment-in-image",)),
    fires(
        "a100",
        {**IN_DOCKER, "run/train/arguments/dataset_dir": "/app/data"},
        verdict="warn",
        also=("environment-in-image",),
    ),
    silent("a100", IN_DOCKER),
)
