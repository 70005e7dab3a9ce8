from __future__ import annotations

from tests.checks.case import Unreadable, fires, silent
from tests.checks.cases.script_missing import FILE

RUN = {"run/train/arguments/model_name_or_path": "Qwen/Qwen3-8B"}

WHOLE = {"cache": "/root/.cache/huggingface/hub", "exists": True, "lacks": [], "commit": "c1"}

ABSENT = {"cache": "/root/.cache/huggingface/hub", "exists": False, "lacks": ["the model"]}

OFFLINE = {"run/env/HF_HUB_OFFLINE": "1"}


def reached(status: int, trouble: str = "", certificate: bool = False) -> dict[str, object]:
    return {"host": "huggingface.co", "status": status, "trouble": trouble, "certificate": certificate}


def script(*words: str) -> dict[str, object]:
    return {
        "run/gpus/model": "cpu",
        "run/train/kind": "command",
        "run/train/arguments": {},
        "run/train/command": ("/opt/train.py", *words),
        FILE: {"exists": True, "text": "print(1)\n"},
    }


HERE = {**RUN, "*/hub/model": WHOLE}

GONE = {**HERE, "node-1/hub/model": ABSENT}

UNREACHED = {**GONE, "node-1/hub/reach": reached(0, "Network is unreachable")}

CASES = (
    fires(
        "cpu", {**GONE, "node-1/hub/reach": reached(200)}, node="node-1", verdict="warn", saw="would download"
    ),
    fires("cpu", UNREACHED, node="node-1", verdict="block", saw="Network is unreachable"),
    # A script may start in a folder that holds it, and its model is judged if it names one as transformers does.
    fires(
        "cpu",
        {**UNREACHED, **script("--model_name_or_path", "Qwen/Qwen3-8B")},
        verdict="warn",
        saw="Qwen/Qwen3-8B",
    ),
    silent("cpu", {**UNREACHED, **script("--model", "Qwen/Qwen3-8B")}),
    # Ranks start in a folder of the user's, which may hold Qwen/Qwen3-8B.
    fires("cpu", {**UNREACHED, "run/train/workdir": "/w"}, verdict="warn"),
    fires("cpu", {**GONE, **OFFLINE}, node="node-1", verdict="block", saw="HF_HUB_OFFLINE=1"),
    fires("cpu", {**GONE, "node-1/hub/reach": reached(401)}, verdict="warn", saw="no token"),
    fires(
        "cpu",
        {**GONE, "node-1/hub/reach": reached(0, "a certificate", True)},
        verdict="warn",
        saw="not known",
    ),
    fires(
        "cpu",
        {**GONE, "node-1/hub/reach": Unreadable("did not answer")},
        verdict="warn",
        saw="did not answer",
    ),
    fires("cpu", {**GONE, "node-1/hub/reach": None}, verdict="warn", saw="it did not ask"),
    fires("cpu", {**HERE, "node-1/hub/model": {**WHOLE, "commit": "c2"}}, verdict="warn", saw="2 versions"),
    fires("cpu", {**HERE, "run/env/USE_MODELSCOPE_HUB": "1"}, verdict="warn", saw="is not known"),
    fires("cpu", {**HERE, "run/train/arguments/model_name_or_path": "models/a/b"}, verdict="warn"),
    silent("cpu", HERE),
    silent("cpu", {**HERE, **OFFLINE}),
    silent("cpu", {**GONE, "node-1/hub/reach": reached(401), "run/secrets": ("HF_TOKEN",)}),
    silent("cpu"),
    silent("laptop", {**RUN, "*/hub/model": ABSENT, "*/hub/reach": reached(200)}),
    fires("cpu", {**GONE, "node-1/hub/reach": reached(403)}, verdict="warn", saw="no token"),
    fires("cpu", {**GONE, "node-1/hub/reach": reached(429)}, verdict="warn", saw="would download"),
    silent("laptop", {"run/train/arguments/model_name_or_path": "models/a/b"}),
)
