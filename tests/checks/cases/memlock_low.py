from allranks.spec import Container
from tests.checks.case import fires, silent

CASES = (
    fires(
        "h100",
        {"node-1/system/limits/memlock": [8 << 20, 8 << 20]},
        node="node-1",
        verdict="block",
        saw="8.00 MiB",
    ),
    silent("h100"),
    silent(  # the container's own limit counts, which allranks sets
        "h100",
        {
            "node-1/system/limits/memlock": [8 << 20, 8 << 20],
            "run/container": Container(engine="docker", image="x"),
        },
    ),
    *(
        silent("h100", {"run/container": Container(engine="docker", image="x", extra={"ulimit": given})})
        for given in (["memlock=-1", "stack=67108864"], "memlock=2147483648:-1")
    ),
    *(
        fires(
            "h100",
            {"run/container": Container(engine="docker", image="x", extra={"ulimit": given})},
            verdict="warn",
            saw="does not set that of memlock",
            also=("container-toolkit", "environment-in-image", "path-not-mounted"),
        )
        for given in (["stack=67108864"], "memlock=65536")
    ),
    silent("h100", {"node-1/system/limits/memlock": [8 << 20, 8 << 20], "node-1/system/user/uid": 0}),
    silent("a100", {"node-1/system/limits/memlock": [8 << 20, 8 << 20]}),
    fires("h100", {"node-1/system/limits/memlock": [(1 << 30) - 1, None]}),
    silent("h100", {"node-1/system/limits/memlock": [1 << 30, None]}),
)
