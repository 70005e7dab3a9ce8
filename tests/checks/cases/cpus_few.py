from tests.checks.case import fires, silent

CASES = (
    fires("a100", {"node-1/system/cpus/usable": 1}, node="node-1", saw="1 processors of 256"),
    silent("a100"),
    silent("demo", {"*/system/cpus/usable": 2}),
)
