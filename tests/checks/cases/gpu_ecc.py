from tests.checks.case import fires, silent

CASES = (
    fires(
        "a100", {"node-1/gpus/list/2/ecc/volatile": 3}, node="node-1", verdict="block", saw="3 uncorrectable"
    ),
    fires("a100", {"node-1/gpus/list/2/ecc/sram_threshold_exceeded": True}, node="node-1", saw="SRAM"),
    fires("a100", {"node-1/gpus/list/2/ecc/on": False}, verdict="warn"),
    fires(
        "a100", {"node-1/gpus/list/2/ecc/volatile": None}, node="node-1", verdict="warn", saw="no error count"
    ),
    # Errors of an earlier time that have been remapped since are in `aggregate`.
    silent("a100", {"node-1/gpus/list/2/ecc/aggregate": 4}),
    silent("t4", {"localhost/gpus/list/0/ecc/on": False}),
)
