"""Whether the training environment really imports, with how long it took and the error where it does not.

The only facts that cost seconds of processor time. A success is kept in `<home>/cache` for as long as the
Python, its installed packages, the machine's boot and the question stay the same; a failure is not kept,
since its cure (a system library) need not change any of them. Collectors of one host that ask the same at
once wait for the first of them.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import time
from typing import Any, Dict, List, Mapping, Optional

from allranks.core import procfs
from allranks.node import paths, private_folder
from allranks.node.facts import _environment, _reader_processes
from allranks.node.facts._reading import Reading, Unreadable

ASKED, NOTHING = "imports", {"modules": {}}
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
print(json.dumps({"modules": found, "torch": extra, "accepted": accepted}))
"""


def read(request: Mapping[str, Any], reading: Reading) -> None:
    names = [str(name) for name in request["imports"]]
    answer = reading.source("modules", lambda: imported(request, names))
    if answer is None:
        return
    reading.fact("modules", parse_modules, answer, names)
    reading.put("cached", bool(answer.get("cached")))
    reading.put("accepted", answer.get("accepted") if isinstance(answer.get("accepted"), dict) else {})
    reading.put("torch", answer.get("torch") if isinstance(answer.get("torch"), dict) else {})


def imported(request: Mapping[str, Any], names: List[str]) -> Dict[str, Any]:
    """The answer of the cache, of a neighbour who is at it, or of a real import now."""
    began = time.time()
    folder = os.path.join(paths.home(), "cache")
    try:
        private_folder.make(folder)
        place = os.path.join(folder, f"imports-{digest(request, names)}.json")
        lock = os.open(place[:-5] + ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError:
        return really(request, names)  # no folder to keep it in: it is asked each time
    try:
        _wait_for(lock)
        kept = paths.read_object(place)
        if usable(kept, began):
            return {**kept["answer"], "cached": True}
        answer = really(request, names)
        _keep(place, answer)
        return answer
    finally:
        os.close(lock)


def usable(kept: Mapping[str, Any], began: float) -> bool:
    """A success of any time; a failure only where it was made while we waited for it."""
    answer, at = kept.get("answer"), kept.get("at")
    if not isinstance(answer, dict) or not isinstance(at, (int, float)):
        return False
    return at >= began or not failures(answer)


def failures(answer: Mapping[str, Any]) -> List[str]:
    modules = answer.get("modules")
    if not isinstance(modules, dict):
        return ["modules"]
    return [name for name, one in modules.items() if not isinstance(one, dict) or "error" in one]


def digest(request: Mapping[str, Any], names: List[str]) -> str:
    """Of all that an import's outcome hangs on: interpreter, installed packages, variables, boot, question."""
    about = _environment.run_python(request, _ENVIRONMENT, [])
    about["asked"] = names
    about["env"] = sorted(_environment.environment(request).items())
    about["boot"] = procfs.boot_id()
    about["script"] = _IMPORT
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:32]


def really(request: Mapping[str, Any], names: List[str]) -> Dict[str, Any]:
    answer = _environment.run_python(request, _IMPORT, names, SECONDS)
    if "modules" in answer:
        return answer
    so_far = answer.get("so_far")
    done = len(so_far) if isinstance(so_far, dict) else 0
    culprit = names[done] if done < len(names) else names[-1]
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
        pass  # a full disk is another fact's business; the answer is at hand


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
