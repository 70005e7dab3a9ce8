from tests.checks.case import Remove, fires, silent

CASES = (
    fires(
        "cpu",
        {"node-1/storage/model": {"path": "/models/tiny", "exists": False}},
        node="node-1",
        saw="not there",
    ),
    fires(
        "cpu",
        {
            "node-1/storage/model/missing": ["model-00002-of-00002.safetensors"],
            "node-1/storage/model/shards": 2,
        },
        node="node-1",
        saw="lacks 1 of 2 shards",
    ),
    fires("cpu", {"node-1/storage/model/cut_short": ["model.safetensors"]}, node="node-1", saw="cut short"),
    fires(
        "cpu",
        {("node-2", "storage", "model", "files", "model.safetensors"): 17},
        node="node-2",
        saw="differs from node-0",
    ),
    fires("cpu", {("node-2", "storage", "model", "files", "tokenizer.json"): Remove}, node="node-2"),
    silent("cpu", {("node-2", "storage", "model", "files", "README.md"): 5}),
)
