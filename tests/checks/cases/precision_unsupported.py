from tests.checks.case import fires, silent

CASES = (
    fires(
        "t4",
        {"run/train/arguments/bf16": True, "run/train/arguments/fp16": False},
        verdict="block",
        saw="Tesla T4",
    ),
    silent("t4"),
    silent("a100"),
)
