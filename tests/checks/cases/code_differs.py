from __future__ import annotations

from tests.checks.case import fires, silent


def _code(**folders: dict) -> dict:
    return {"folders": folders}


def _of(digest: str, **files: str) -> dict:
    return {"folder": "/opt/LLaMA-Factory/src/llamafactory", "digest": digest, "files": files, "cut": False}


SAME, OTHER = _of("aa", **{"launcher.py": "1"}), _of("bb", **{"launcher.py": "2", "new.py": "3"})

CASES = (
    fires(
        "cpu",
        {"*/code": _code(trainer=SAME), "node-2/code": _code(trainer=OTHER)},
        node="node-2",
        verdict="warn",
        saw="differs in 2 files: launcher.py, new.py",
    ),
    fires("cpu", {"*/code": _code(script=SAME), "node-1/code": _code(script=OTHER)}, node="node-1"),
    # The model's own code runs only where it is trusted.
    silent("cpu", {"*/code": _code(model=SAME), "node-1/code": _code(model=OTHER)}),
    fires(
        "cpu",
        {
            "run/train/arguments/trust_remote_code": True,
            "*/code": _code(model=SAME),
            "node-1/code": _code(model=OTHER),
        },
        saw="the model's own code",
    ),
    silent("cpu", {"*/code": _code(trainer=SAME)}),
    # Two machines are enough.
    fires("h100", {"*/code": _code(trainer=SAME), "node-1/code": _code(trainer=OTHER)}),
    silent("cpu"),
)
