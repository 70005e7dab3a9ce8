from tests.checks.case import fires, silent

CASES = (
    fires("cpu", {"node-1/system/clock/synchronized": False}, node="node-1", verdict="note"),
    silent("cpu"),
    silent("demo", {"*/system/clock/synchronized": False}),
)
