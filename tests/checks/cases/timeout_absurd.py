from tests.checks.case import fires, silent

CASES = (
    fires("a100", {"run/train/arguments/ddp_timeout": 180_000_000}, verdict="warn", saw="5.7 years"),
    fires("a100", {"run/train/arguments/ddp_timeout": 30}, saw="30 s"),
    fires("a100", {"run/env/DEEPSPEED_TIMEOUT": "100000"}),
    silent("a100", {"run/train/arguments/ddp_timeout": 7200}),
    fires("a100", {"run/train/arguments/ddp_timeout": 90_000}, saw="25 h"),
    silent("a100", {"run/train/arguments/ddp_timeout": 86_000}),
    fires("a100", {"run/train/arguments/ddp_timeout": 290}),
    silent("a100", {"run/train/arguments/ddp_timeout": 310}),
)
