from tests.checks.case import Unreadable, fires, silent

CASES = (
    fires("a100", {"node-1/driver/modules": ["nvidia"]}, node="node-1", verdict="warn", saw="no nvidia_uvm"),
    fires("a100", {"node-1/driver/device_files": ["nvidia0"]}, node="node-1", saw="/dev/nvidia-uvm"),
    fires(
        "a100",
        {
            "node-1/driver/modules": ["nouveau"],
            "node-1/driver/module": None,
            "node-1/gpus/list": [],
            "node-1/gpus/driver": None,
        },
        node="node-1",
        verdict="block",
        saw="nouveau",
        # Then there is no GPU to be seen either.
        also=("gpus-missing",),
    ),
    fires(
        "a100",
        {"node-1/driver/modules": ["nvidia"], "node-1/driver/device_files": Unreadable("x")},
        node="node-1",
        saw="no nvidia_uvm",
        also=("unreadable-facts",),
    ),
    silent("a100", {"node-1/driver/device_files": Unreadable("x")}),
    silent("a100"),
)
