from tests.checks.case import fires, silent

CASES = (
    fires(
        "a100",
        {"node-1/gpus/list/2/clocks/slowed": ["hw_power_brake_slowdown", "hw_slowdown"]},
        node="node-1",
        verdict="warn",
        saw="power brake",
    ),
    fires("a100", {"node-1/gpus/list/2/temperature": 90}, node="node-1", saw="90 °C"),
    silent("a100", {"node-1/gpus/list/2/clocks/slowed": ["sw_power_cap", "applications_clocks_setting"]}),
)
