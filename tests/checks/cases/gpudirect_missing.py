from tests.checks.case import fires, silent

CASES = (
    fires(
        "h100",
        {"node-1/driver/modules": ["nvidia", "nvidia_uvm"], "node-1/driver/module/open": False},
        node="node-1",
        verdict="warn",
    ),
    silent("h100"),
    silent("h100", {"*/driver/modules": ["nvidia", "nvidia_uvm"]}),
    silent("a100"),
)
