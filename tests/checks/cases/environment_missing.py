from tests.checks.case import Unreadable, fires, silent

CASES = (
    fires(
        "cpu",
        {
            "node-1/software/python": Unreadable("/opt/env/bin/python is not installed"),
            "node-1/software/versions": Unreadable("the training environment's Python did not answer"),
        },
        node="node-1",
        verdict="block",
        # The versions that other checks compare cannot be read either.
        also=("unreadable-facts",),
    ),
    silent("cpu"),
)
