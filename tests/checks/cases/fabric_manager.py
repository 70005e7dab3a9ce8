from tests.checks.case import fires, silent

CASES = (
    fires(
        "a100",
        {"node-1/driver/fabric_manager": {"version": None, "state": None}},
        node="node-1",
        saw="no Fabric",
    ),
    fires(
        "a100",
        {"node-1/driver/fabric_manager/version": "570.86.15"},
        node="node-1",
        verdict="block",
        saw="Fabric Manager 570.86.15 and driver 570.124.06",
    ),
    fires("a100", {"node-1/driver/fabric_manager/state": "failed"}, node="node-1", saw="is failed"),
    fires(
        "h100", {"node-1/gpus/list/3/fabric/state": "In Progress"}, node="node-1", saw="In Progress on GPU 3"
    ),
    silent("a100"),
    silent("t4"),
    silent(
        "a100",
        {
            "node-1/driver/fabric_manager": {"version": None, "state": None},
            "node-1/system/container": "docker",
        },
    ),
)
