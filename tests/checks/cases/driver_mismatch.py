from tests.checks.case import fires, silent

CASES = (
    fires("a100", {"node-1/driver/libraries/libcuda": ["570.133.20"]}, node="node-1", verdict="block"),
    fires(
        "a100",
        {"node-1/driver/libraries/libcuda": ["570.124.06", "535.161.08"]},
        node="node-1",
        verdict="warn",
    ),
    silent("a100"),
    # A container without ldconfig's cache of them.
    silent("a100", {"node-1/driver/libraries": {"libcuda": [], "libnvidia-ml": []}}),
)
