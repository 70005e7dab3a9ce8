from tests.checks.case import fires, silent

CASES = (
    fires("a100", {"run/train/arguments/local_rank": 0}, verdict="note"),
    silent("a100", {"run/train/arguments/logging_dir": "/home/ubuntu/logs"}),
)
