"""What a rank of `_fault_loop.py` does to go wrong by itself: one function for each kind of fault, by its name.

They stand in a file of their own, as a training's own modules do. What the loop must do otherwise from then on stands
in `STATE`. torch is imported where it is needed: some acts come before it.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

STATE: dict[str, Any] = {}
"""`poison`: the loss is NaN. `slow`: so many seconds more a step. `seed`: another model. `folder`: the checkpoint that
is being written."""

ACTS: dict[str, Callable[[], object]] = {}


def act(function: Callable[[], object]) -> Callable[[], object]:
    ACTS[function.__name__.replace("_", "-")] = function
    return function


def device() -> str:
    return os.environ.get("DEVICE", "cpu")


# ---- signals ----


def by_signal(name: str, number: int) -> None:
    ACTS[name] = lambda: os.kill(os.getpid(), number)


for _name in ("SIGKILL", "SIGSTOP", "SIGTERM", "SIGSEGV", "SIGABRT", "SIGUSR1", "SIGINT", "SIGFPE"):
    by_signal(_name.lower(), signal.Signals[_name])
ACTS["torchrun-killed"] = lambda: os.kill(os.getppid(), signal.SIGKILL)
ACTS["torchrun-ended"] = lambda: os.kill(os.getppid(), signal.SIGTERM)
ACTS["torchrun-stopped"] = lambda: os.kill(os.getppid(), signal.SIGSTOP)


@act
def loader_killed() -> None:
    worker = multiprocessing.active_children()[0]
    assert worker.pid is not None
    os.kill(worker.pid, signal.SIGKILL)


@act
def bad_free() -> None:
    """Native code that frees what is none of its own: glibc aborts."""
    ctypes.CDLL(None).free(ctypes.c_void_p(ctypes.addressof(ctypes.create_string_buffer(64)) + 24))


@act
def sigbus() -> None:
    """A data file that is cut while it is mapped."""
    with tempfile.TemporaryFile() as file:
        file.truncate(1 << 20)
        mapped = mmap.mmap(file.fileno(), 1 << 20)
        file.truncate(0)
        mapped.read(1)


# ---- ends ----

ACTS["exit0"] = lambda: os._exit(0)
ACTS["exit3"] = lambda: os._exit(3)
ACTS["leaves"] = lambda: sys.exit(0)


@act
def bad_argument() -> None:
    import argparse

    parser = argparse.ArgumentParser(prog="train.py")
    parser.add_argument("--learning-rate", type=float)
    parser.parse_args(["--learning-rate", "fast"])


@act
def exec_() -> None:
    os.execvp("sleep", ["sleep", "3600"])


ACTS["exec"] = ACTS.pop("exec-")


@act
def closed_files() -> None:
    os.closerange(3, 4096)


# ---- exceptions ----


@act
def exception() -> None:
    raise ValueError("the label of sample 7 is -1")


@act
def exception_everywhere() -> None:
    raise ValueError("the learning rate is negative")


@act
def recursion() -> None:
    def deeper(level: int) -> int:
        return deeper(level + 1) + 1

    deeper(0)


@act
def bad_text() -> None:
    b'{"text": "caf\xe9"}'.decode()


@act
def bad_json() -> None:
    json.loads('{"text": "cut o')


@act
def no_variable() -> None:
    os.environ["DATA_ROOT_OF_NODE"]


@act
def no_module() -> None:
    import flash_attn_of_another_image  # type: ignore[import-not-found]  # noqa: F401


@act
def no_data_file() -> None:
    open("/data/of-another-node/train.jsonl").close()


@act
def bad_checkpoint() -> None:
    from safetensors.torch import load_file

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "adapter_model.safetensors")
        file.write_bytes(b"\x40\x00\x00\x00\x00\x00\x00\x00{" + b" " * 16)
        load_file(file)


@act
def bad_shape() -> None:
    import torch

    torch.nn.Linear(16, 1)(torch.zeros(4, 8))


@act
def memory_error() -> None:
    bytearray(1 << 60)


@act
def too_many_files() -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    kept = []
    while True:
        kept.append(os.open(os.devnull, os.O_RDONLY))


@act
def gpu_oom() -> None:
    """All of the GPU's memory, and one allocation more. A CPU has none to run out of: there torch's error is raised as
    it stands in its sources (c10/cuda/CUDACachingAllocator.cpp)."""
    import torch

    if device() == "cpu":
        raise torch.OutOfMemoryError(
            "CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a total capacity of 79.10 GiB of which "
            "9.00 GiB is free."
        )
    kept = []
    while True:
        kept.append(torch.ones(1 << 30, device=device()))


# ---- memory and disks ----


@act
def oom() -> None:
    """Only inside a memory cgroup: without one this would eat the machine."""
    (Path(os.environ["OOM_GROUP"]) / "cgroup.procs").write_text("0")
    kept = []
    while True:
        kept.append(bytearray(os.urandom(1 << 20)) * 16)


@act
def disk() -> None:
    """Takes all that is free of the disk, as another program of it would, and writes nothing: the next byte that this
    one saves does not fit."""
    with open(os.environ["FULL_DISK"] + "/taken", "wb") as file:
        size, taken = 1 << 33, 0
        while size >= 4096:
            try:
                os.posix_fallocate(file.fileno(), taken, size)
                taken += size
            except OSError:
                size //= 2


@act
def checkpoint_removed() -> None:
    shutil.rmtree(STATE["folder"])


# ---- collectives ----


@act
def mismatch() -> None:
    import torch
    import torch.distributed as dist

    dist.broadcast(torch.zeros(3, device=device()), src=int(os.environ["RANK"]))


@act
def barrier() -> None:
    import torch.distributed as dist

    dist.barrier()


@act
def size() -> None:
    import torch
    import torch.distributed as dist

    dist.all_reduce(torch.zeros(7_000_000, device=device()))


@act
def no_group() -> None:
    import torch.distributed as dist

    dist.destroy_process_group()


# ---- ranks that stand still ----

ACTS["sleep"] = lambda: time.sleep(3600)
ACTS["time-out"] = lambda: time.sleep(3600)
ACTS["loader"] = lambda: None  # the data set sees to it


@act
def lock() -> None:
    held = threading.Lock()
    held.acquire()
    held.acquire()  # never released


@act
def endless() -> None:
    while True:
        sum(range(1000))
        time.sleep(0.001)  # it shall not take a core from the others of this machine


@act
def gil() -> None:
    """Native code that keeps the interpreter's lock."""
    ctypes.PyDLL(None).sleep(3600)


@act
def child() -> None:
    subprocess.run(["sleep", "3600"], check=True)


@act
def pipe() -> None:
    """A file that nobody ever writes."""
    with tempfile.TemporaryDirectory() as folder:
        os.mkfifo(f"{folder}/queue")
        Path(folder, "queue").read_text()


# ---- figures ----

ACTS["nan"] = lambda: STATE.update(poison=True)
ACTS["slow"] = lambda: STATE.update(slow=0.4)
ACTS["other-model"] = lambda: STATE.update(seed=1)
