"""One node's reports about itself. They do not judge: `checks` does.

A family of facts is one module of this folder whose name does not begin with `_`; it is found by being
there. It has `read(request, reading)`, which stores values and reasons in the `Reading`, `SECONDS`, its
limit, and pure parsers that a test feeds with recorded output. One that answers a question of its own has the
request's key of it, `ASKED`, and `NOTHING`, its values without that question. Each family runs in its own process
that can be abandoned (`_reader_processes`): a hung driver or a dead mount costs its own facts and no others.

The request is a JSON object; every key may be missing:

| key | what |
|---|---|
| `node`, `address` | this node's name and the address under which the others reach it |
| `head` | the name of the head node |
| `peers` | names to addresses of all nodes of the run |
| `ports` | TCP ports that the run will listen on here |
| `paths` | folders that the run writes to |
| `files` | small text files whose content is wanted |
| `model` | the model's folder |
| `hub` | `{"id", "revision", "cache"}` of a model of the Hugging Face Hub |
| `dataset` | `{"dir": folder, "names": [...]}` as LLaMA-Factory reads it |
| `engine` | the container engine that the run uses |
| `python` | the training environment's Python; `env` the environment it gets |
| `imports` | modules to import for real, in this order |
| `configuration` | with `imports`: what `configuration_trial` describes, and `digest`, which comes back |
| `libraries` | `true`: search the installed torch and NCCL for the names of variables they read |
| `ssh` | names to addresses that this node must reach over SSH |
| `code` | `{"script": path, "model": folder, "trainer": true}`: whose code's digests are wanted |
| `nonce` | of a second look: `{"token", "do": "write", "look" or "remove", "folders"}` |
| `limits` | seconds by family |
| `families` | only these families |
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import time
from typing import Any, Dict, List, Mapping

from allranks.core import Facts
from allranks.core.untrusted import mapping, number
from allranks.node.facts import _reader_processes
from allranks.node.facts._reading import Reading

SECONDS = 10.0
"""The time limit of a family, if neither it nor the request sets another. nvidia-smi on an idle 8-GPU node without
persistence mode takes up to about 5 s; after twice that it counts as hung."""


def families() -> List[str]:
    """The names of all families, sorted."""
    found = (module.name for module in pkgutil.iter_modules(__path__))
    return sorted(name for name in found if not name.startswith("_"))


def collect(request: Mapping[str, Any]) -> Facts:
    """Reads every family at once and waits for none past its limit.

    `taken_at` is when the reading began, on this node's clock; `values["collection"]` holds how long it took
    by family. The state of a node never makes it raise.
    """
    began_at, began = time.time(), time.monotonic()
    asked = mapping(request.get("limits"))
    wanted = request.get("families")
    modules = {}
    values: Dict[str, Any] = {}
    unreadable: Dict[str, str] = {}
    for name in families():
        if isinstance(wanted, (list, tuple)) and name not in wanted:
            continue
        try:
            modules[name] = importlib.import_module(f"{__name__}.{name}")
        except Exception as error:  # a family that cannot be loaded is a reason, not a crash
            unreadable[name] = f"{type(error).__name__}: {error}"
    for name in [name for name, module in modules.items() if not _asked(module, request)]:
        values[name] = dict(modules.pop(name).NOTHING)
    limits = {name: _seconds(asked.get(name), getattr(m, "SECONDS", SECONDS)) for name, m in modules.items()}
    tasks = {name: _task(module, request) for name, module in modules.items()}
    seconds: Dict[str, float] = {}
    for name, outcome in _reader_processes.run(tasks, limits).items():
        seconds[name] = round(outcome.seconds, 3)
        _merge(name, outcome, values, unreadable)
    values["collection"] = {"seconds": round(time.monotonic() - began, 3), "families": seconds}
    return Facts(str(request.get("node") or os.uname().nodename), began_at, values, unreadable)


def _asked(module: Any, request: Mapping[str, Any]) -> bool:
    """Whether a family has anything to do. Without its question it gets no process: six idle ones were a sixth of
    a node's whole work (18 of 109 ms of processor time)."""
    key = getattr(module, "ASKED", None)
    return key is None or bool(request.get(key))


def _task(module: Any, request: Mapping[str, Any]) -> Any:
    def read(send: Any) -> None:
        module.read(request, Reading(send))

    return read


def _merge(
    name: str, outcome: "_reader_processes.Outcome", values: Dict[str, Any], unreadable: Dict[str, str]
) -> None:
    """Stores the values that a family sent before it ended or was abandoned."""
    family: Dict[str, Any] = {}
    for message in outcome.messages:
        fact = str(message.get("fact"))
        if "reason" in message:
            unreadable[f"{name}.{fact}"] = str(message["reason"])
        elif "value" in message:
            family[fact] = message["value"]
    values[name] = family
    if outcome.reason is None:
        return
    # The fact that was being read when it ended is the one that hangs; those after it were never tried.
    began = [str(message["begin"]) for message in outcome.messages if "begin" in message]
    done = set(family) | {path.partition(".")[2] for path in unreadable if path.startswith(name + ".")}
    hung = [fact for fact in began if fact not in done]
    if hung:
        unreadable[f"{name}.{hung[-1]}"] = outcome.reason
    unreadable[name] = f"{hung[-1]}: {outcome.reason}" if hung else outcome.reason


def _seconds(asked: Any, default: float) -> float:
    """A limit between 0.1 s and an hour; anything else that was asked is the default."""
    value = number(asked)
    return value if value is not None and 0.1 <= value <= 3600 else default
