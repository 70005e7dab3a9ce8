"""Whether the training environment really imports, with how long that took, or the error.

The only facts that cost seconds of processor time. A success is kept in `<home>/cache` for as long as the
Python, its installed packages, the machine's boot and the question stay the same; a failure is not kept, since its
fix (a system library) need not change any of them. Collectors of one host that ask the same at once wait for the
first of them.

The same Python, with all that imported, reads the run's configuration for a trial (`configuration_trial.py`). The
result of the trial is kept separately, so that another configuration does not import everything again.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import pkgutil
import time
from typing import Any, Dict, List, Mapping, Optional

from allranks.core import procfs
from allranks.node import hub_cache, paths, private_folder
from allranks.node.facts import _environment, _reader_processes
from allranks.node.facts._reading import Reading, Unreadable

ASKED, NOTHING = "imports", {"modules": {}}
DEEPSPEED_MARKS = (
    "zero_optimization",
    "train_micro_batch_size_per_gpu",
    "train_batch_size",
    "gradient_accumulation_steps",
)
"""A JSON object with one of these keys is a DeepSpeed configuration."""

SECONDS = 180.0

_ENVIRONMENT = r"""
import json, os, sys
seen = []
for folder in sys.path:
    try:
        for entry in os.scandir(folder or "."):
            if entry.name.endswith((".dist-info", ".egg-info", ".pth", ".egg-link")):
                seen.append([entry.path, entry.stat().st_mtime_ns])
    except OSError:
        pass
print(json.dumps({"executable": os.path.realpath(sys.executable), "path": sys.path, "seen": sorted(seen)}))
"""

_IMPORT = r"""
import importlib, json, sys, time, traceback
asked, started = json.load(sys.stdin), time.monotonic()
found = {}
for name in sys.argv[1:]:
    began = time.monotonic()
    try:
        importlib.import_module(name)
        found[name] = {"seconds": round(time.monotonic() - began, 3)}
    except BaseException as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        found[name] = {"error": "%s: %s" % (type(error).__name__, error), "file": frame.filename,
                       "line": frame.lineno}
    print(json.dumps({"so_far": found}), flush=True)
torch = sys.modules.get("torch")
extra = {}
if torch is not None:
    try:
        extra = {"version": torch.__version__, "cuda": torch.version.cuda,
                 "distributed": torch.distributed.is_available(),
                 "gloo": torch.distributed.is_gloo_available(), "nccl": torch.distributed.is_nccl_available(),
                 "cuda_devices": torch.cuda.device_count() if torch.version.cuda else 0}
        if extra["nccl"] and torch.version.cuda:
            extra["nccl_version"] = ".".join(str(n) for n in torch.cuda.nccl.version())
    except Exception as error:
        extra["error"] = "%s: %s" % (type(error).__name__, error)
accepted = {}
try:
    if "llamafactory.train.tuner" in sys.modules:
        import dataclasses
        from llamafactory.hparams import parser
        fields = [f.name for c in parser._TRAIN_ARGS for f in dataclasses.fields(c) if f.init]
        accepted["arguments"] = sorted(set(fields))
except Exception as error:
    accepted["arguments_error"] = "%s: %s" % (type(error).__name__, error)
try:
    if "deepspeed" in sys.modules:
        from deepspeed.runtime.zero.config import DeepSpeedZeroConfig
        keys = DeepSpeedZeroConfig.model_fields
        accepted["zero_keys"] = sorted(set(keys) | {f.alias for f in keys.values() if f.alias})
except Exception as error:
    accepted["zero_keys_error"] = "%s: %s" % (type(error).__name__, error)
told = {"modules": found, "torch": extra, "accepted": accepted}
print(json.dumps(told), flush=True)
if asked["questions"]:
    seconds = asked["seconds"] - (time.monotonic() - started)
    print(json.dumps({**told, "answers": answers(asked["questions"], seconds)}))
"""


_LOAD = r"""
import sys, types
for name, source in {sources!r}:
    module = sys.modules["allranks.node." + name] = types.ModuleType("allranks.node." + name)
    exec(compile(source, name, "exec"), module.__dict__)
answers = module.answers
"""

TRIAL = _LOAD.format(
    sources=[
        (name, (pkgutil.get_data("allranks.node", name + ".py") or b"").decode())
        for name in ("configuration_steps", "configuration_trial")
    ]
)
"""Source that defines `answers` in a Python without allranks."""


def read(request: Mapping[str, Any], reading: Reading) -> None:
    names = [str(name) for name in request["imports"]]
    answer = reading.source("modules", lambda: imported(request, names))
    if answer is None:
        return
    reading.fact("modules", parse_modules, answer, names)
    reading.put("cached", bool(answer.get("cached")))
    reading.put("accepted", answer.get("accepted") if isinstance(answer.get("accepted"), dict) else {})
    reading.put("torch", answer.get("torch") if isinstance(answer.get("torch"), dict) else {})
    question = asked(request)
    if question:
        said = answer.get("configuration")
        reading.put("configuration", {"digest": question.get("digest"), "answer": said})


def asked(request: Mapping[str, Any]) -> Dict[str, Any]:
    """The configuration that the libraries shall read; empty if none was sent, or if the JSON file that it names is not
    one for DeepSpeed. (Others report a file that is missing or is not JSON.)"""
    question = request.get("configuration")
    found = dict(question) if isinstance(question, Mapping) else {}
    if found.get("kind") != "deepspeed":
        return found
    if found.get("deepspeed") is None:
        found["deepspeed"] = paths.read_object(os.path.expanduser(str(found.get("path"))))
    return found if any(mark in found["deepspeed"] for mark in DEEPSPEED_MARKS) else {}


def imported(request: Mapping[str, Any], names: List[str]) -> Dict[str, Any]:
    """The answer of the cache, of another process that is importing, or of a real import now. The libraries' verdict
    about the configuration is in `configuration`."""
    began = time.time()
    folder = os.path.join(paths.home(), "cache")
    question = asked(request)
    try:
        private_folder.make(folder)
        about = digest(request, names)
        place = os.path.join(folder, f"imports-{about}.json")
        lock = os.open(place[:-5] + ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError:
        return really(request, names, question)  # no folder to keep it in: it is asked each time
    try:
        _wait_for(lock)
        kept = paths.read_object(place)
        told = os.path.join(folder, f"configuration-{configuration_digest(about, request, question)}.json")
        said = told_of(paths.read_object(told), began) if question else None
        known = usable(kept, began)
        if known and (said is not None or not question):
            return {**kept["answer"], "cached": True, "configuration": said}
        answer = really(request, [] if known else names, {} if said is not None else question)
        said = answer.pop("configuration", said)
        if question:
            _keep(told, {"said": said})
        if known:
            return {**kept["answer"], "cached": True, "configuration": said}
        _keep(place, answer)
        return {**answer, "configuration": said}
    finally:
        os.close(lock)


def told_of(kept: Mapping[str, Any], began: float) -> Optional[Dict[str, Any]]:
    """The libraries' answer as it was kept. An answer without a verdict counts only if it was made while we
    waited."""
    answer, at = kept.get("answer"), kept.get("at")
    said = answer.get("said") if isinstance(answer, dict) else None
    if not isinstance(said, dict) or not isinstance(at, (int, float)):
        return None
    return said if at >= began or isinstance(said.get("refused"), bool) else None


def usable(kept: Mapping[str, Any], began: float) -> bool:
    """A success of any time; a failure only if it was made while we waited for it."""
    answer, at = kept.get("answer"), kept.get("at")
    if not isinstance(answer, dict) or not isinstance(at, (int, float)):
        return False
    return at >= began or not failures(answer)


def failures(answer: Mapping[str, Any]) -> List[str]:
    modules = answer.get("modules")
    if not isinstance(modules, dict):
        return ["modules"]
    return [name for name, one in modules.items() if not isinstance(one, dict) or "error" in one]


def configuration_digest(about: str, request: Mapping[str, Any], question: Mapping[str, Any]) -> str:
    """Of the environment, the question and what of the model is read."""
    words = json.dumps([about, question, _model_state(request), TRIAL], sort_keys=True)
    return hashlib.sha256(words.encode()).hexdigest()[:32]


def _model_state(request: Mapping[str, Any]) -> Any:
    """The state of the model's config.json, of the folder or of the Hub's cache; None if there is none."""
    hub, path = request.get("hub"), request.get("model")
    if isinstance(hub, Mapping):
        variables = _environment.environment(request)
        cache = hub_cache.folder_of(hub, variables)
        path = hub_cache.snapshot(cache, str(hub.get("id")), str(hub.get("revision") or "main"))
    try:
        state = os.stat(os.path.join(os.path.expanduser(str(path)), "config.json"))
    except OSError:
        return None
    return [state.st_size, state.st_mtime_ns]


def digest(request: Mapping[str, Any], names: List[str]) -> str:
    """Of everything that an import's outcome depends on: interpreter, installed packages, variables, boot,
    question."""
    about = _environment.run_python(request, _ENVIRONMENT, [])
    about["asked"] = names
    about["env"] = sorted(_environment.environment(request).items())
    about["boot"] = procfs.boot_id()
    about["script"] = _IMPORT
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:32]


def really(request: Mapping[str, Any], names: List[str], question: Mapping[str, Any]) -> Dict[str, Any]:
    asked = {"questions": [question] if question else [], "seconds": _reader_processes.remaining(SECONDS) - 2}
    stdin = json.dumps(asked).encode()
    answer = _environment.run_python(request, TRIAL + _IMPORT, names, SECONDS, stdin)
    if "modules" in answer:
        said = answer.pop("answers", None) or [{"unknown": "their Python ended before it answered"}]
        return {**answer, **({"configuration": said[0]} if question else {})}
    so_far = answer.get("so_far")
    done = len(so_far) if isinstance(so_far, dict) else 0
    culprit = names[done] if done < len(names) else "torch"
    raise Unreadable(f"importing {culprit} ended the Python itself (a crash in a compiled library)")


def _wait_for(lock: int) -> None:
    deadline = time.monotonic() + _reader_processes.remaining(SECONDS)
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise Unreadable("another collector on this host is still importing") from None
        except OSError:
            return  # a filesystem without locks: two may import at once, which only costs time
        time.sleep(0.2)


def _keep(place: str, answer: Mapping[str, Any]) -> None:
    try:
        paths.write_text(place, json.dumps({"at": time.time(), "answer": answer}))
    except OSError:
        pass  # another fact reports a full disk; the answer is there without the file


def parse_modules(answer: Mapping[str, Any], names: List[str]) -> Dict[str, Optional[Dict[str, Any]]]:
    """By module: `seconds`, or `error` with `file` and `line`."""
    modules = answer.get("modules")
    if not isinstance(modules, dict):
        raise Unreadable("the answer holds no modules")
    found: Dict[str, Optional[Dict[str, Any]]] = {}
    for name in names:
        one = modules.get(name)
        found[name] = one if isinstance(one, dict) else {"error": "it was not tried"}
    return found
