from tests.checks.case import fires, silent

CASES = (
    fires("a100", {"node-1/driver/gpus_on_bus": 9}, node="node-1", verdict="warn"),
    silent("a100", {"node-1/driver/gpus_on_bus": 9, "node-1/system/container": "docker"}),
    silent("a100", {"node-1/driver/gpus_on_bus": 9, "node-1/driver/scheduler_job": "417"}),
)
