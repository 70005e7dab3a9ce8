from tests.checks.case import fires, silent

CHANGED = {
    "node-1/gpus/driver": "535.161.08",
    "node-1/driver/module/version": "535.161.08",
    "node-1/driver/module_on_disk": "535.161.08",
    "node-1/driver/libraries": {"libcuda": ["535.161.08"], "libnvidia-ml": ["535.161.08"]},
    "node-1/driver/fabric_manager/version": "535.161.08",
}

CASES = (
    fires("a100", CHANGED, node="node-1", verdict="warn", saw="535.161.08"),
    silent("a100"),
    silent("t4"),
)
