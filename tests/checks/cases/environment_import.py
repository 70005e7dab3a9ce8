from tests.checks.case import fires, silent

CASES = (
    fires(
        "cpu",
        {
            "node-1/imports/modules/deepspeed": {
                "error": "ImportError: libaio.so.1: cannot open shared object file"
            }
        },
        node="node-1",
        verdict="block",
        saw="libaio",
    ),
    silent("cpu"),
)
