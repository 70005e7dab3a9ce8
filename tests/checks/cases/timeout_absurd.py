from tests.checks.case import fires, silent

CASES = (
    fires("a100", {"run/train/arguments/ddp_timeout": 180_000_000}, verdict="warn", saw="5.7 years"),
    fires("a100", {"run/train/arguments/ddp_timeout": 30}, saw="30 s"),
    fires("a100", {"run/env/DEEPSPEED_TIMEOUT": "100000"}),
    silent("a100", {"run/train/arguments/ddp_timeout": 7200}),
    fires("a100", {"run/train/arguments/ddp_timeout": 86_401}),
    silent("a100", {"run/train/arguments/ddp_timeout": 86_400}),
    fires("a100", {"run/train/arguments/ddp_timeout": 299}),
    silent("a100", {"run/train/arguments/ddp_timeout": 300}),
    fires("a100", {"run/env/DEEPSPEED_TIMEOUT": "1441"}),
    silent("a100", {"run/env/DEEPSPEED_TIMEOUT": "1440"}),
)
