"""A program that the run needs is not installed.

## How it is found
`please install the numactl package`, `No such file or directory: 'numactl'` (ninja, nvcc, gcc, git, ...),
`command not found`.

Easily confused with pdsh-missing, ssh-connection-failed and deepspeed-op-build-failure, which are about
particular programs.

## Why it matters
The launcher or a library starts it as a separate process, and it is not on PATH there.

## What to do
Install it on that node or in the image, or leave out the option that asks for it (`--bind_cores_to_rank`
needs numactl).

## Source
Go's `src/os/exec/lp_unix.go` returns `executable file not found in $PATH`, which Docker and similar
programs pass on. The other texts are those of shells and `env`, as people posted them in public reports.

Topic: software
"""

from __future__ import annotations

import re
from typing import Optional

from allranks.core.causes import Cause
from allranks.diagnose.claims import Claim
from allranks.diagnose.complaints import Complaint
from allranks.diagnose.evidence import Evidence
from allranks.diagnose.symptom import CRASH, STALE, WEAK, Case, Hit, Pattern

CAUSE = Cause(__name__)
_OTHERS = ("'ssh'", "'pdsh'", "orted", "prted", "/ssh'", "/pdsh'")
_TOOLS = (
    r"numactl|ninja|nvcc|gcc|g\+\+|cc|c\+\+|clang|ld|nvc|git|git-lfs|ib(?:stat|v_devinfo)|nvidia-smi|rocm-smi"
    r"|docker|podman"
    r"|singularity|apptainer|enroot|srun|sbatch|scontrol|mpirun|mpiexec|orterun|make|cmake|ldconfig|hostname|ip"
    r"|ifconfig|lsof"
    r"|lspci|lscpu|ffmpeg|ffprobe|sox|java|perl|wget|curl|aria2c|rsync|unzip|tar|7z|tmux|patchelf|protoc|cargo|rustc"
    r"|npm|gsutil|gcloud|aws|azcopy|kubectl|conda|uv|poetry|torchrun|deepspeed|accelerate|horovodrun|py-spy|nsys"
    r"|nvidia-modprobe|pandoc|llvm-config|hipcc|rocminfo|which|uname|taskset|pkill|stdbuf|xvfb-run|Xvfb"
)
"""Programs that trainers, launchers and libraries start."""
TOOL = (
    r"(?:nvcc|gcc|g\+\+|ninja|cmake|make|clang|git(?:[- ]lfs)?|numactl|ffmpeg|ffprobe|sox|mpirun|mpiexec|srun|docker"
    r"|enroot|java|perl|protoc|cargo|rustc|nvidia-smi|torchrun|hipcc)"
)
_ABSENT = (
    rf"(?i)(?<![\w./-])['\"`]?{TOOL}['\"`]? (?:was |is |could )?not (?:be )?(?:found|installed)\b"
    r"|\bbad git executable"
)
CLAIM = Claim(
    subject=(
        rf"(?i)(?<![\w./-])['\"`]?{TOOL}['\"`]? (?:was |is |could |can ?)?(?:not (?:be )?(?:found"
        rf"|installed|available|recogni[sz]ed)"
        rf"|missing)\b|\b(?:find|locate|check(?:ing)? for|without|missing|install|installation of) (?:the "
        rf")?['\"`]?{TOOL}\b(?!-|_)"
        r"|\bbad git executable|\bcommand not found"
    ),
    settles=_ABSENT,
)
COMPLAINT = Complaint(
    subject=(
        r"(?i)\bcommand not found|\bis not recogni[sz]ed as an internal or external"
        r"|\bexecutable (?:file )?not found|\bno such (?:command|program"
        r"|executable)|^\S{0,60}sh: .{1,120}not found"
        "|\u4e0d\u662f\u5185\u90e8\u6216\u5916\u90e8\u547d\u4ee4"
    ),
    settles=_ABSENT,
)
PATTERNS = (
    Pattern(
        "No such file or directory",
        r"FileNotFoundError.{0,40}: '(?:/[\w.-]{1,60}){0,8}/s?bin/[\w.+-]{2,40}'$",
        weight=80,
        without=_OTHERS,
    ),
    Pattern(
        "No such file or directory",
        r": '(?:/\S{0,80}/)?(?:" + _TOOLS + r")(?: -[^']{1,400})?(?:'|$)",
        without=_OTHERS,
    ),
    Pattern("install the", r"(?i)please install the [\w.+-]{1,80} package", weight=90, without=("libaio",)),
    Pattern(
        "command not found",
        r"^(?!.{0,200}(?<!\S)--?\w[\w-]{0,60}: command not found)",  # the rest of a command, after a lost backslash
        weight=80,
        without=("pdsh", "orted", "prted", "ssh: command"),
    ),
    Pattern(
        "not found",
        r"\bsh: (?:line )?\d{1,6}: [\w.+-]{1,60}: not found",
        weight=80,
        without=_OTHERS,
    ),
    Pattern("Bad git executable", weight=94),
    Pattern(
        "cannot execute",
        r"cannot execute .{1,3}(?:cc1plus|cc1|as|ld|collect2)\b.{0,10}: .{0,16}No such file",
        weight=96,
    ),
    Pattern("No CMAKE_", r"No CMAKE_\w{1,10}_COMPILER could be found", weight=94),
    Pattern("executable file not found in $PATH", weight=90, without=_OTHERS),
    Pattern("No such file or directory", r"execve|exec format|env: ", weight=WEAK, without=_OTHERS),
)

_BY_NAME = re.compile(r"directory: '[\w.+-]{1,60}'")


def judge(seen: Evidence) -> Optional[Case]:
    """Also: Python could not start a program that it knows by its name alone."""
    case = seen.case("missing-system-tool")
    if case is not None and case.weight > STALE:
        return case
    raised = (one for _, one in seen.raised() if one.kind == "FileNotFoundError" and one.frames)
    hits = tuple(
        Hit("missing-system-tool", CRASH + 2, one.line, one.order, one.at, one.steps)
        for one in raised
        if one.frames[-1].rstrip().endswith("in _execute_child")
        and _BY_NAME.search(one.line.text)
        and not seen.survived(one)
    )
    return Case("missing-system-tool", CRASH + 2, hits, "likely") if hits else case
