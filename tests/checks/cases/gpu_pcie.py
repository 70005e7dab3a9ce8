from tests.checks.case import fires, silent

CASES = (
    fires("a100", {"node-1/gpus/list/2/pcie/width": 8}, node="node-1", saw="x8"),
    fires("a100", {"node-1/gpus/list/2/pcie/replays": 52_000}, node="node-1", saw="52,000"),
    silent("a100", {"node-1/gpus/list/2/pcie/generation": 1}),
    # Slots of x8 by design: no GPU of this model has more, whatever the board could do.
    silent("t4", {"localhost/gpus/list/0/pcie/width": 8, "localhost/gpus/list/0/pcie/most_width": 16}),
    fires("a100", {"node-1/gpus/list/2/pcie/replays": 1_000}),
    silent("a100", {"node-1/gpus/list/2/pcie/replays": 999}),
)
