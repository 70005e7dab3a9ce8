"""Compiles DeepSpeed's operators on every node before the launch; otherwise all ranks would compile them during it."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping, Sequence
from typing import Any

from allranks.core import extensions
from allranks.plan.operators import BUILDERS, operators
from allranks.prepare.failures import blocked, last_words
from allranks.prepare.progress import WATCH
from allranks.spec import Run
from allranks.transport import NodeProgram

BUILD_SECONDS = 1800.0
"""CPUAdam takes about a minute on one core; CUDA operators for several architectures take ten."""

TORCH_LOCK_SECONDS = 600

FLAGS = (
    *("CC", "CXX", "CFLAGS", "CXXFLAGS", "LDFLAGS", "CUDA_HOME", "TORCH_CUDA_ARCH_LIST"),
    "NVCC_APPEND_FLAGS",
)
"""The variables that change how torch and DeepSpeed compile."""

BUILD = (
    inspect.getsource(extensions)
    + "import contextlib, fcntl, importlib, json, shutil, subprocess, time\n"
    + WATCH
    + """
wanted = json.load(sys.stdin)
watch(wanted["seconds"])
os.environ.update(wanted["env"])
os.environ["PATH"] = os.path.dirname(sys.executable) + os.pathsep + os.environ.get("PATH", os.defpath)
if VARIABLE not in os.environ and os.environ.get(CACHE):
    own = folder(os.environ[CACHE])
    if own is not None:
        os.environ[VARIABLE] = own

def library(name):
    return os.path.join(os.environ.get(VARIABLE, ""), name, name + ".so")

def digest(place):
    with open(os.path.join(place, "build.ninja"), "rb") as file:
        marks = [hashlib.sha256(file.read()).hexdigest(), shutil.which(os.environ.get("CXX") or "c++") or ""]
    return repr(marks + [os.environ.get(name, "") for name in wanted["flags"]])

def is_current(name):
    place = os.path.dirname(library(name))
    try:
        with open(os.path.join(place, "allranks.built")) as file:
            same = file.read() == digest(place)
        if not same or not os.path.exists(library(name)) or os.path.exists(os.path.join(place, "lock")):
            return False
        said = subprocess.run(["ninja", "-n", "-C", place], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    except OSError:
        return False
    return said.returncode == 0 and b"no work to do" in said.stdout

if all(is_current(name) for name in wanted["operators"]):
    print(json.dumps([[one[1], library(name)] for one, name in zip(wanted["builders"], wanted["operators"])]))
    sys.exit(0)

def load(builder, lock):
    with open(lock + ".allranks", "a") as mark:
        with contextlib.suppress(OSError):
            fcntl.flock(mark, fcntl.LOCK_EX)
            if os.path.getsize(mark.name) and os.path.exists(lock):
                os.remove(lock)
            if not os.path.exists(lock):
                mark.write("building")
                mark.flush()
        if os.path.exists(lock) and time.time() - os.stat(lock).st_mtime > wanted["lock_seconds"]:
            sys.exit("%s is older than a build takes: one that was killed left it, and torch would wait for it "
                     "without end; remove it" % lock)
        try:
            return builder.load(verbose=False)
        finally:
            mark.truncate(0)

def note(place):
    with contextlib.suppress(OSError):
        new = os.path.join(place, "allranks.built.%d" % os.getpid())
        with open(new, "w") as file:
            file.write(digest(place))
        os.replace(new, os.path.join(place, "allranks.built"))

built = []
with contextlib.redirect_stdout(sys.stderr):
    from torch.utils.cpp_extension import _get_build_directory
    for module, name in wanted["builders"]:
        builder = getattr(importlib.import_module(module), name)()
        place = _get_build_directory(builder.name, False)
        built.append([name, os.path.abspath(load(builder, os.path.join(place, "lock")).__file__)])
        note(place)
print(json.dumps(built))
"""
)
"""A program for the Python of the training environment. Each environment has its own folder for operators
(`core/extensions.py`).

`builder.load` lets torch compile the operators that are not up to date, as DeepSpeed itself does at the first use. The
program notes a digest of the result. The next time it asks ninja whether everything is still current, since importing
torch would take seconds. If a build by allranks was killed, torch's `lock` remains, and torch would wait for it without
end. The build's mark file remains too, but nobody holds its lock: the kernel releases the lock of a process that has
ended. So the program knows that it may remove torch's `lock`."""

OPERATORS = {builder: name for name, builder in BUILDERS.items()}


def builders(run: Run, deepspeed: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    """The operators that the planned configuration uses, as (module, class) of DeepSpeed."""
    home = "deepspeed.ops.op_builder"
    on_cpu = f"{home}.cpu" if run.on_cpu else home
    return [(home if n == "async_io" else on_cpu, BUILDERS[n]) for n in operators(run, deepspeed)]


def asked(wanted: Sequence[tuple[str, str]], env: Mapping[str, str]) -> dict[str, Any]:
    """The input of BUILD, which reads it from its standard input."""
    return {
        "builders": wanted,
        "operators": [OPERATORS.get(name, name) for _, name in wanted],
        "env": dict(env),
        "flags": FLAGS,
        "lock_seconds": TORCH_LOCK_SECONDS,
        "seconds": BUILD_SECONDS,
    }


async def compile_ahead(
    program: NodeProgram, python: str, wanted: Sequence[tuple[str, str]], env: Mapping[str, str]
) -> None:
    """Builds the operators on one node, in its container if it has one; raises NotReady."""
    done = await program.transport.run(
        [python, "-c", BUILD], stdin=json.dumps(asked(wanted, env)).encode(), timeout_seconds=BUILD_SECONDS
    )
    if done.code == 0:
        return
    raise blocked(
        "ops-not-built",
        program.node,
        f"{', '.join(name for _, name in wanted)} cannot be compiled on {program.node}: {last_words(done)}",
        expected="DeepSpeed's operators, ready before the launch",
        why="the ranks would try the same in the launch, all at once, and end with the same error.",
        fix="install what the build misses (a C++ compiler, ninja; nvcc of torch's CUDA) in the training environment",
    )
