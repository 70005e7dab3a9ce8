from tests.checks.case import fires, silent

CASES = (
    fires("a100", {"node-1/gpus/list/2/rows/failure": True}, node="node-1", verdict="block"),
    fires("a100", {"node-1/gpus/list/2/rows/pending": True}, node="node-1", verdict="warn"),
    fires(
        "a100", {"node-1/gpus/list/2/rows/retired_pages": 60}, node="node-1", verdict="warn", saw="retired 60"
    ),
    silent("a100", {"node-1/gpus/list/2/rows/retired_pages": 59}),
    silent("a100", {"node-1/gpus/list/2/rows/remapped_uncorrectable": 1}),
)
