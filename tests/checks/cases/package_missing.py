from tests.checks.case import fires, silent

CASES = (
    fires(
        "cpu",
        {"run/train/arguments/report_to": "tensorboard", "node-2/software/versions/tensorboard": None},
        node="node-2",
        verdict="block",
        saw="tensorboard is not installed",
    ),
    silent("cpu", {"node-2/software/versions/tensorboard": None}),
    fires("cpu", {"*/software/versions/deepspeed": None}, node="node-0", verdict="block"),
)
