from tests.checks.case import fires, silent

CASES = (
    fires("cpu", {"node-1/storage/dataset": {"dir": "/data", "info": False}}, node="node-1", saw="not there"),
    fires(
        "cpu",
        {"node-1/storage/dataset/unknown": ["keepin"], "node-1/storage/dataset/entries": {}},
        node="node-1",
        saw="dataset keepin is not in",
    ),
    fires(
        "cpu",
        {
            "node-1/storage/dataset/unknown": ["other"],
            "node-1/storage/dataset/entries": {},
            "node-1/storage/dataset/known": ["keeping", "alpaca"],
        },
        saw="which has keeping, alpaca",
    ),
    fires(
        "cpu",
        {"node-1/storage/dataset/entries/keeping/exists": False},
        node="node-1",
        saw="the file of dataset",
    ),
    fires("cpu", {"node-1/storage/dataset/entries/keeping/bytes": 0}, node="node-1", saw="is empty"),
    silent("cpu"),
    silent(
        "cpu", {"run/train/arguments/dataset_dir": "ONLINE", "*/storage/dataset": {"dir": "x", "info": False}}
    ),
)
