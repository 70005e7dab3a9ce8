from tests.checks.case import Unreadable, fires, silent

CASES = (
    fires(
        "cpu", {"node-1/system/boot_id": Unreadable("Permission denied")}, node="node-1", verdict="unknown"
    ),
    # nvidia-smi gives the list and the driver's version at once: one reason, one finding.
    fires(
        "a100",
        {
            "node-1/gpus": {"list": []},
            "node-1/gpus/list": Unreadable("nvidia-smi did not answer within 15 s"),
        },
        saw="gpus.driver, gpus.list of node-1 could not be read: nvidia-smi did not answer within 15 s",
    ),
    silent("cpu"),
)
