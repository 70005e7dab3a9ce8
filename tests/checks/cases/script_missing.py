from tests.checks.case import fires, silent

FILE = ("*", "storage", "files", "/opt/train.py")
COMMAND = {
    "run/train/kind": "command",
    "run/train/command": ("/opt/train.py",),
    "run/train/arguments": {},
    "run/gpus/model": "cpu",
}

SHIPPED = {"run/code": "/desk/code", "run/train/command": ("train.py",)}

IN_CODE = ("*", "storage", "files", "/desk/code/train.py")

CASES = (
    fires("cpu", {**COMMAND, FILE: {"exists": False}}, node="node-1", verdict="block", saw="is not on"),
    fires("cpu", {**COMMAND, FILE: {"exists": True, "text": "def f(:\n"}}, saw="is not Python: line 1"),
    fires(
        "cpu",
        {**COMMAND, **SHIPPED, IN_CODE: {"exists": False}},
        verdict="block",
        saw="/desk/code/train.py is not there",
    ),
    fires(
        "cpu",
        {**COMMAND, **SHIPPED, IN_CODE: {"exists": True, "text": "def f(:\n"}},
        verdict="block",
        saw="/desk/code/train.py is not Python: line 1",
    ),
    fires(
        "cpu",
        {**COMMAND, **SHIPPED, IN_CODE: {"exists": True, "unread": "Permission denied"}},
        verdict="unknown",
        saw="/desk/code/train.py cannot be read: Permission denied",
    ),
    silent("cpu", {**COMMAND, **SHIPPED, IN_CODE: {"exists": True, "text": "print(1)\n"}}),
    silent("cpu", {**COMMAND, FILE: {"exists": True, "text": "print(1)\n"}}),
    # A module may be installed.
    silent("cpu", {**COMMAND, **SHIPPED, "run/train/command": ("-m", "train"), IN_CODE: {"exists": False}}),
    # A relative path that nothing ships is the working folder's matter.
    silent(
        "cpu", {**COMMAND, "run/train/command": ("train.py",), "*/storage/files/train.py": {"exists": False}}
    ),
    silent("cpu"),
)
