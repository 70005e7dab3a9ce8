from allranks.spec.run import Container
from tests.checks.case import fires, silent

IMAGE = Container("docker", "hiyouga/llamafactory@sha256:0", ("/nfs:/nfs:ro", "/home/ubuntu:/home/ubuntu"))
READY = {"name": "docker", "path": "/usr/bin/docker", "version": "27.3.1", "trouble": None}
IN_DOCKER = {
    "run/container": IMAGE,
    "*/containers/engine": READY,
    "*/driver/container_toolkit": "1.17.4",
}

CASES = (
    fires(
        "a100",
        {**IN_DOCKER, "node-1/containers/engine": {**READY, "path": None}},
        node="node-1",
        verdict="block",
        # The environment of an image is a note of its own.
        also=("environment-in-image",),
    ),
    fires(
        "a100",
        {**IN_DOCKER, "node-1/containers/engine": {**READY, "trouble": "permission denied"}},
        saw="permission denied",
        also=("environment-in-image",),
    ),
    silent("a100", IN_DOCKER),
    silent("a100"),
)
