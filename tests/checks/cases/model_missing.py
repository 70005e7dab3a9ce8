from tests.checks.case import Remove, fires, silent
from tests.checks.cases.script_missing import FILE

SCRIPT = {
    "run/gpus/model": "cpu",
    "run/train/kind": "command",
    "run/train/arguments": {},
    "run/train/command": ("/opt/train.py", "--model_name_or_path=/models/tiny"),
    FILE: {"exists": True, "text": "print(1)\n"},
}

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
    # A script names it by the option of transformers' examples; it may also make the weights itself.
    fires(
        "cpu",
        {**SCRIPT, "node-1/storage/model": {"path": "/models/tiny", "exists": False}},
        node="node-1",
        verdict="block",
        saw="not there",
    ),
    fires(
        "cpu",
        {**SCRIPT, "node-1/storage/model/files": {"config.json": 700}, "node-1/storage/model/index": None},
        node="node-1",
        verdict="warn",
        saw="holds no weights",
    ),
    silent(
        "cpu",
        {
            **SCRIPT,
            "run/train/command": ("/opt/train.py", "--model", "/models/tiny"),
            "node-1/storage/model": {"path": "/models/tiny", "exists": False},
        },
    ),
)
