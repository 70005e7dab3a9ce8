from tests.checks.case import fires, silent

CASES = (
    fires(
        "t4",
        {"run/train/arguments/bf16": True, "run/train/arguments/fp16": False},
        verdict="warn",
        saw="Tesla T4",
    ),
    fires(
        "t4",
        {
            "run/train/arguments/bf16": True,
            "run/train/arguments/fp16": False,
            "*/software/versions/torch": "2.2.2",
        },
        verdict="block",
        also=("dependency-fence",),  # LLaMA-Factory wants a newer torch
        saw="Tesla T4",
    ),
    fires(
        "t4",
        {
            "run/train/arguments/bf16": True,
            "run/train/arguments/fp16": False,
            "*/software/versions/torch": None,
        },
        verdict="warn",  # nobody knows what torch there is
        also=("package-missing",),
        saw="Tesla T4",
    ),
    fires(
        "a100",
        {
            "*/gpus/list/0/name": "Quadro T9",
            "*/gpus/list/0/architecture": "Turing",
            "run/train/arguments/bf16": True,
        },
        also=("gpu-model",),  # the others are A100
        saw="Quadro T9 (Turing)",
    ),
    silent("t4"),
    silent("a100"),
)
