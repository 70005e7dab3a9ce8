from tests.checks.case import Remove, Unreadable, fires, silent
from tests.checks.cases.script_missing import FILE

SLOW = {"digest": "", "answer": {"unknown": "they did not answer within 30 s"}}

SCRIPT = {
    "run/gpus/model": "cpu",
    "run/train/kind": "command",
    "run/train/command": ("/opt/train.py", "--deepspeed", "/opt/ds.json"),
    "run/train/arguments": {},
    FILE: {"exists": True, "text": "print(1)\n"},
}

CASES = (
    fires("cpu", {**SCRIPT, "*/imports/configuration": SLOW}, verdict="unknown", saw="within 30 s"),
    # What the command names is no DeepSpeed configuration, or is not there, which others tell.
    silent("cpu", {**SCRIPT, "*/imports/configuration": Remove}),
    fires("cpu", {"node-1/imports/configuration": SLOW}, node="node-1", verdict="unknown", saw="within 30 s"),
    fires("cpu", {"*/imports/configuration": Remove}, verdict="warn", saw="were not asked"),
    fires("cpu", {"*/imports/configuration": {"digest": "another"}}, verdict="warn"),
    fires(
        "cpu",
        {"node-2/imports/configuration": Unreadable("no space left")},
        verdict="unknown",
        saw="no space",
    ),
    silent("cpu"),
    # environment-import says why, once.
    silent(
        "cpu", {"*/imports/configuration": SLOW, "*/imports/modules/torch": {"error": "ImportError: libc"}}
    ),
)
