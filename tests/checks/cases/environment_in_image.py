from tests.checks.case import fires, silent
from tests.checks.cases.container_engine import IN_DOCKER

CASES = (fires("a100", IN_DOCKER, verdict="note"), silent("a100"))
