from tests.checks.case import Remove, Unreadable, fires, silent

SCRIPT = {
    "run/train/kind": "command",
    "run/train/arguments": {},
    "run/train/command": ("/srv/train.py",),
    "run/gpus/model": None,
}

NO_DRIVER = {
    "*/gpus": {},
    "*/gpus/list": Unreadable("nvidia-smi is not installed; the PCI bus holds 8 NVIDIA GPUs"),
    "*/driver/device_files": [],
}

CASES = (
    fires(
        "a100",
        {"node-2/gpus/list/7": Remove, "node-2/driver/gpus_on_bus": 7},
        node="node-2",
        verdict="block",
        saw="shows 7 GPUs",
    ),
    fires(
        "cpu", {"run/train/arguments/use_cpu": False}, node="node-0", verdict="block", saw="no NVIDIA device"
    ),
    # A script is not taken for one that trains on CPUs because no node has a GPU.
    fires("cpu", {**SCRIPT}, node="node-2", verdict="block", saw="no NVIDIA device on its PCI bus"),
    # A container that was started without --gpus, and nvidia-smi is not in its image.
    fires(
        "a100",
        {**NO_DRIVER, "*/system/container": "docker"},
        verdict="block",
        saw="8 NVIDIA GPUs are on the PCI bus, and this container has none",
        # nvidia-smi could say nothing.
        also=("unreadable-facts",),
    ),
    # A driver that was never loaded, on all nodes.
    fires(
        "a100",
        {**NO_DRIVER, "*/driver/modules": [], "*/driver/module": None},
        verdict="block",
        saw="and no driver works for it",
        also=("unreadable-facts", "driver-not-loaded"),
    ),
    silent("a100"),
    silent("cpu"),
    silent("cpu", {**SCRIPT, "run/gpus/model": "cpu"}),
    # Not known is neither: `unreadable-facts` says so.
    silent("a100", {"*/gpus/list": Unreadable("nvidia-smi did not answer within 15 s")}),
)
