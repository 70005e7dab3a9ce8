from tests.checks.case import fires, silent

CASES = (
    fires("a100", {"node-1/gpus/list/2/power/limit_watts": 250.0}, node="node-1", saw="250 W"),
    silent("a100", {"node-1/gpus/list/2/power/limit_watts": 388.0}),
    fires("a100", {"node-1/gpus/list/2/power/limit_watts": 387.9}),
)
