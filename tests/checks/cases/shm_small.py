from allranks.spec.run import Container
from tests.checks.case import fires, silent
from tests.checks.cases.container_engine import IMAGE, IN_DOCKER

FULL = {("node-1", "storage", "paths", "/dev/shm", "free_bytes"): 0}
INSIDE = ("environment-in-image",)


def docker(**more):
    return {**IN_DOCKER, "run/container": Container(IMAGE.engine, IMAGE.image, IMAGE.mounts, **more)}


CASES = (
    fires(
        "a100",
        {("node-1", "storage", "paths", "/dev/shm", "total_bytes"): 64 << 20},
        node="node-1",
        saw="64.0 MiB",
    ),
    fires(
        "a100",
        {("node-1", "storage", "paths", "/dev/shm", "free_bytes"): (1 << 30) - 1},
        node="node-1",
        saw="free of",
    ),
    silent("a100", {("node-1", "storage", "paths", "/dev/shm", "free_bytes"): 1 << 30}),
    silent("a100"),
    silent("demo"),
    # A size beside the host's IPC does nothing; without a size there is nothing to say.
    fires(
        "a100", docker(shm_bytes=16 << 30, extra={"ipc": "host"}), verdict="note", saw="16.0 GiB", also=INSIDE
    ),
    silent("a100", docker(extra={"ipc": "host"})),
    silent("a100", docker(shm_bytes=16 << 30)),
    # By default a container shares the host's /dev/shm; with a size, or its own IPC, what fills that is not its.
    fires("a100", {**docker(), **FULL}, node="node-1", verdict="warn", also=INSIDE),
    fires("a100", {**docker(extra={"ipc": "host"}), **FULL}, verdict="warn", also=INSIDE),
    silent("a100", {**docker(shm_bytes=16 << 30), **FULL}),
    silent("a100", {**docker(extra={"ipc": "private"}), **FULL}),
    fires("a100", {("node-1", "storage", "paths", "/dev/shm", "total_bytes"): (1 << 30) - 1}),
    silent("a100", {("node-1", "storage", "paths", "/dev/shm", "total_bytes"): 1 << 30}),
    fires("cpu", {("node-1", "storage", "paths", "/dev/shm", "total_bytes"): (64 << 20) - 1}),
    silent("cpu", {("node-1", "storage", "paths", "/dev/shm", "total_bytes"): 64 << 20}),
)
