"""DeepSpeed's operators, compiled on every node before the launch instead of by all ranks in the middle of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from allranks.checks.asking import uses_deepspeed
from allranks.prepare.trouble import blocked, last_words
from allranks.prepare.watched import WATCH
from allranks.reach import NodeProgram
from allranks.spec import Run

BUILD_SECONDS = 1800.0
"""CPUAdam takes about a minute on one core; CUDA operators for several architectures take ten."""

ON_PROCESSOR = ("cpu", "nvme")
TORCH_LOCK_SECONDS = 600

BUILD = (
    "import contextlib, fcntl, glob, importlib, json, os, sys, time\n"
    + WATCH
    + """
wanted = json.load(sys.stdin)
watch(wanted["seconds"])
os.environ.update(wanted["env"])
root = os.environ.get("TORCH_EXTENSIONS_DIR")
if root is None:
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    root = os.path.join(cache, "torch_extensions", "py%d%d_*" % sys.version_info[:2])
if all(glob.glob(os.path.join(root, name, name + ".so")) for name in wanted["operators"]):
    print(json.dumps([]))
    sys.exit(0)
folder = os.path.dirname(sys.executable)
os.environ["PATH"] = folder + os.pathsep + os.environ.get("PATH", os.defpath)
built = []
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
with contextlib.redirect_stdout(sys.stderr):
    from torch.utils.cpp_extension import _get_build_directory
    for module, name in wanted["builders"]:
        builder = getattr(importlib.import_module(module), name)()
        lock = os.path.join(_get_build_directory(builder.name, False), "lock")
        built.append([name, os.path.abspath(load(builder, lock).__file__)])
print(json.dumps(built))
"""
)
"""Run by the training environment's Python. Where the operators lie in torch's cache (`TORCH_EXTENSIONS_DIR`)
nothing is imported; else `builder.load` compiles them, as DeepSpeed itself does at the first use.
A build of ours that was killed has left torch's `lock`, for which torch waits without end. It has left its mark, too,
and nobody holds that: the kernel gives up a dead holder's."""

OPERATORS = {
    "CPUAdamBuilder": "cpu_adam",
    "FusedAdamBuilder": "fused_adam",
    "AsyncIOBuilder": "async_io",
    "ShareMemCommBuilder": "deepspeed_shm_comm",
}
"""The names under which torch's cache has what the builders make (their NAME)."""


def builders(run: Run, deepspeed: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    """The operators that the planned configuration uses, as (module, class) of DeepSpeed 0.16 to 0.19."""
    if not uses_deepspeed(run) or not deepspeed:
        return []
    zero = mapping(deepspeed.get("zero_optimization"))
    place = mapping(zero.get("offload_optimizer")).get("device")
    weights = mapping(zero.get("offload_param")).get("device")
    kind = str(mapping(deepspeed.get("optimizer")).get("type") or "").lower()
    gpu = not run.on_cpu
    home = "deepspeed.ops.op_builder" if gpu else "deepspeed.ops.op_builder.cpu"
    found = []
    if place in ON_PROCESSOR:
        found.append((home, "CPUAdamBuilder"))
    elif kind in ("adam", "adamw"):
        found.append((home, "FusedAdamBuilder"))
    if "nvme" in (place, weights):
        found.append(("deepspeed.ops.op_builder", "AsyncIOBuilder"))
    if not gpu:
        found.append((home, "ShareMemCommBuilder"))
    return found


def mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


async def compile_ahead(
    program: NodeProgram, python: str, wanted: Sequence[tuple[str, str]], env: Mapping[str, str]
) -> None:
    """Builds the operators on one node, in its container where it has one; raises NotReady."""
    operators = [OPERATORS.get(name, name) for _, name in wanted]
    asked = {
        "builders": wanted,
        "operators": operators,
        "env": dict(env),
        "lock_seconds": TORCH_LOCK_SECONDS,
        "seconds": BUILD_SECONDS,
    }
    done = await program.transport.run(
        [python, "-c", BUILD], stdin=json.dumps(asked).encode(), timeout_seconds=BUILD_SECONDS
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
