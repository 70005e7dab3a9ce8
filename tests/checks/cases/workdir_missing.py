from tests.checks.case import Unreadable, fires, silent

FOLDER = ("*", "storage", "files", "/srv/gpt")

WANTED = {"run/train/workdir": "/srv/gpt"}

IN_CODE = {"run/code": "/desk/code", "run/train/workdir": "gpt"}

CASES = (
    fires(
        "cpu",
        {
            **WANTED,
            FOLDER: {"exists": True, "folder": True, "text": None},
            ("node-1", "storage", "files", "/srv/gpt"): {"exists": False},
        },
        node="node-1",
        verdict="block",
        saw="/srv/gpt is not there on node-1",
    ),
    fires(
        "cpu",
        {**WANTED, FOLDER: {"exists": True, "bytes": 3, "text": "x\n"}},
        saw="is not a folder on node-0",
    ),
    fires(
        "cpu",
        {**IN_CODE, ("*", "storage", "files", "/desk/code/gpt"): {"exists": False}},
        verdict="block",
        saw="/desk/code/gpt is not there, and so not in the code",
    ),
    silent("cpu", {**WANTED, FOLDER: {"exists": True, "folder": True, "text": None}}),
    # A mount that hangs: `unreadable-facts` says so.
    silent("cpu", {**WANTED, "*/storage/files": Unreadable("/srv did not answer within 5 s")}),
    silent("cpu"),
)
