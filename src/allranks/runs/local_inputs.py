"""Reads the inputs of a run on this machine, before any node is asked: the data set's size, an unknown model, the
script."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from allranks.checks.fact_request import hub_model, shipped
from allranks.checks.rules import script_missing
from allranks.core import BLOCK, WARN, Facts, Finding
from allranks.core.untrusted import mapping
from allranks.node import hub_cache
from allranks.node.facts._reading import Unreadable
from allranks.node.facts.storage import read_file
from allranks.plan import families
from allranks.plan.lora import split
from allranks.spec import Run

DESCRIBING_SECONDS = 120.0
"""Importing torch and transformers takes 5 to 40 s; building on the meta device takes up to a minute for large
models."""

LARGEST_JSON = 256 * 2**20
"""A JSON array must be read completely to be counted. A larger file is not counted."""


# ---- the data set ----


def samples_of(run: Run) -> int | None:
    """How many samples an epoch has, if the data set's files are on this machine; None if unknown.

    LLaMA-Factory 0.9.5 (`data/parser.py`, `data/loader.py`): `dataset` names entries of `dataset_info.json`,
    `max_samples` limits each, `val_size` is held out of the rest.
    """
    arguments = run.train.arguments
    folder = Path(run.here(str(arguments.get("dataset_dir") or "data")))
    names = split(arguments.get("dataset"))
    try:
        info = json.loads((folder / "dataset_info.json").read_text(encoding="utf-8"))
        counts = [count_samples(folder / info[name]["file_name"]) for name in names]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    most = arguments.get("max_samples")
    found = [count if most is None else min(count, int(most)) for count in counts if count is not None]
    if not found or len(found) != len(names):
        return None
    return sum(found) - held_out(sum(found), arguments.get("val_size"))


def count_samples(path: Path) -> int | None:
    """The number of non-empty lines of a .jsonl, or of entries of a .json array; None for other files and for
    folders."""
    if path.suffix == ".jsonl":
        with path.open("rb") as file:
            return sum(1 for line in file if line.strip())
    if path.suffix == ".json" and path.stat().st_size <= LARGEST_JSON:
        data = json.loads(path.read_text(encoding="utf-8"))
        return len(data) if isinstance(data, list) else None
    return None


def held_out(total: int, size: Any) -> int:
    """`val_size`: a share below 1, a number of samples from 1 on."""
    value = float(size or 0)
    return int(value) if value >= 1 else int(total * value)


# ---- the model ----


def cached_config(run: Run) -> str | None:
    """The config.json of the run's model in this machine's cache of the Hugging Face Hub; None if there is none."""
    model = hub_model(run)
    if model is None:
        return None
    caches = [hub_cache.cache({**os.environ, **run.env}), hub_cache.cache(os.environ)]
    if run.train.arguments.get("cache_dir"):
        caches.insert(0, run.here(str(run.train.arguments["cache_dir"])))
    found = (hub_cache.snapshot(str(Path(folder).expanduser()), *model) for folder in caches)
    return next((str(Path(folder, "config.json")) for folder in found if folder), None)


# ---- a model without a known description ----


def described(run: Run, config: Mapping[str, Any] | None, python: str) -> dict[str, Any] | None:
    """Describes a model whose family allranks does not know, with a Python that has torch and transformers; None for
    a known family.

    The training environment's Python comes first if it is on this machine, then the one that runs allranks, then
    those on PATH. If none of them can answer, `tried` maps each to its error.
    """
    if config is None or run.train.kind != "llamafactory":
        return None
    if families.is_described(config.get("model_type")):
        return None
    asked = json.dumps(config, sort_keys=True)
    tried: dict[str, str] = {}
    for candidate in pythons(python):
        answer = _query(candidate, asked)
        if "modules" in answer:
            return answer
        tried[candidate] = str(answer["error"])
    return {"tried": tried}


def pythons(python: str) -> list[str]:
    """The Pythons of this machine that may describe a model, in the order in which they are asked.

    Links are not followed: a virtual environment's Python is a link to the system's, but is another environment.
    """
    named = shutil.which(str(Path(python).expanduser()) if python.startswith("~") else python)
    found = [named, sys.executable, shutil.which("python3"), shutil.which("python")]
    return list(dict.fromkeys(str(Path(path).absolute()) for path in found if path))


@lru_cache(maxsize=32)
def _query(python: str, config: str) -> dict[str, Any]:
    """The program's answer: `modules` and more, or `error`."""
    program = Path(families.__file__).resolve().parent.parent / "meta_device.py"
    try:
        done = subprocess.run(
            [python, str(program), "/dev/stdin"],
            input=config,
            capture_output=True,
            text=True,
            timeout=DESCRIBING_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"error": f"no answer within {DESCRIBING_SECONDS:g} s"}
    except OSError as error:
        return {"error": str(error.strerror)}
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        answer = None
    if isinstance(answer, dict) and ("modules" in answer or "error" in answer):
        return answer
    last = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
    return {"error": f"no description: {last[0][:200]}"}


# ---- the script ----


def with_shipped(run: Run, facts: Sequence[Facts]) -> list[Facts]:
    """The nodes' facts with the files of `code` that checks judge. They are read here, since every node gets them."""
    paths = shipped(run)
    if not paths:
        return list(facts)
    found = {path: _looked_at(path) for path in paths}
    return [one if "node" in one.unreadable else _with_files(one, found) for one in facts]


def _looked_at(path: str) -> dict[str, Any]:
    """The file's facts, as a node would report them; `unread` is why it cannot be read."""
    try:
        return read_file(path)
    except (OSError, Unreadable) as error:
        return {"exists": True, "unread": str(error)}


def _with_files(facts: Facts, found: Mapping[str, Any]) -> Facts:
    storage = mapping(facts.get("storage"))
    files = {**mapping(storage.get("files")), **found}
    return replace(facts, values={**facts.values, "storage": {**storage, "files": files}})


def script_findings(run: Run) -> list[Finding]:
    """A finding if the script of `train.command` is missing. If the nodes are other machines, only a relative path is
    judged, since ranks start in the run's own folder."""
    if run.train.kind != "command" or not run.train.command:
        return []
    script = run.train.command[0]
    if script.startswith("-"):
        return []
    if run.code is not None and not script.startswith(("/", "~")):
        path = Path(run.code, script)
        if path.is_file():
            return []
        verdict, saw = BLOCK, f"{path} is not on this machine, and so not in the code that is shipped."
        fix = "the script's path inside code"
        if Path(run.code).is_file():
            saw = f"code: {run.code} is a file. `code` names the folder with the script, which is shipped."
            fix = f"code: {Path(run.code).parent}, and the script's path inside it"
    elif run.is_here:
        path = Path(run.here(script, bare=True)).expanduser()
        if path.is_file():
            return []
        verdict, saw = BLOCK, f"{path} is not on this machine."
        fix = "the script's path; a relative path begins at the run file's folder"
    elif script.startswith(("/", "~")) or run.workdir():
        return []
    else:
        verdict, saw = WARN, f"{script} is relative: the nodes would look for it in the run's own folder."
        fix = "its absolute path on the nodes"
    return [
        Finding(
            id=script_missing.ID,
            verdict=verdict,
            where=run.where("train.command"),
            saw=saw,
            expected="the script on every node",
            why='its ranks would end at once with "can\'t open file".',
            fix=fix,
        )
    ]
