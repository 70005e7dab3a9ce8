from tests.checks.case import Remove, fires, silent
from tests.checks.cases.script_missing import FILE


def says(said, step="arguments", library="llamafactory", error="ValueError"):
    answer = {"refused": True, "step": step, "library": library, "error": error, "said": said}
    return {"digest": "", "answer": answer}


MATPLOTLIB = (
    "No package metadata was found for The 'matplotlib' distribution was not found and is required by this "
    "application. \nTo fix: run `pip install matplotlib`."
)
EXTRA = "1 validation error for DeepSpeedZeroConfig\nstaeg\n  Extra inputs are not permitted [type=extra_forbidden]"

SCRIPT = {
    "run/gpus/model": "cpu",
    "run/train/kind": "command",
    "run/train/arguments": {},
    FILE: {"exists": True, "text": "print(1)\n"},
    "*/imports/configuration": says(EXTRA, "deepspeed", "deepspeed", "ValidationError"),
}

CASES = (
    # A script's DeepSpeed JSON is asked about as a run's own is.
    fires(
        "cpu",
        {**SCRIPT, "run/train/command": ("/opt/train.py", "--deepspeed", "/opt/ds.json")},
        verdict="block",
        saw="DeepSpeed on node-2 refuses the run's DeepSpeed JSON: 1 validation error for DeepSpeedZeroConfig staeg",
    ),
    silent("cpu", {**SCRIPT, "run/train/command": ("/opt/train.py", "--data", "/opt/ds.json")}),
    fires(
        "cpu",
        {
            "run/train/arguments/plot_loss": True,
            "node-1/imports/configuration": says(MATPLOTLIB, error="PackageNotFoundError"),
        },
        node="node-1",
        verdict="block",
        saw="LLaMA-Factory on node-1 refuses the run's arguments: No package metadata was found for The 'matplotlib'",
    ),
    fires(
        "a100",
        {
            "deepspeed/zero_optimization": {"stage": 3},
            "*/imports/configuration": says(EXTRA, "deepspeed", "deepspeed", "ValidationError"),
        },
        verdict="block",
        saw="DeepSpeed on node-2 refuses the run's DeepSpeed JSON: 1 validation error for DeepSpeedZeroConfig staeg",
    ),
    silent("cpu"),
    silent("cpu", {"*/imports/configuration": Remove}),
    # What was said of another configuration says nothing of this one.
    silent("cpu", {"*/imports/configuration": {**says("no"), "digest": "another"}}),
)
