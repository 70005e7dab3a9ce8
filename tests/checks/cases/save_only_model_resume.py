from tests.checks.case import fires, silent

CASES = (
    fires("a100", {"run/launch/restarts": 3}, verdict="warn", saw="launch.restarts: 3"),
    fires("a100", {"run/resume": "auto"}),
    silent("a100"),
    silent("a100", {"run/launch/restarts": 3, "run/train/arguments/save_only_model": False}),
)
