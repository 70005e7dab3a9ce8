"""A rank waits for the lock of an operator that no process builds.

## How it is found
A stack that ends in `torch/utils/file_baton.py`, in `wait`, below `cpp_extension.py` (`load`, `_jit_compile`):
when the ranks are stopped, or asked for their stacks. Before that nothing is printed.

Easily confused with a build that really runs: a CUDA operator of DeepSpeed takes minutes at its first use,
with `ninja` and `nvcc` among the processes.

## Why it matters
torch lets one process compile an operator, and all others wait until its file `lock` is gone. A builder that
was killed left the file behind: every rank that needs the operator waits without a limit, in `loading`.

## What to do
`allranks check` names the lock and whether a process has it open. If no process has: remove that file `lock`, then run
again. It is in the operator's folder, below the rank's TORCH_EXTENSIONS_DIR, or ~/.cache/torch_extensions without one.

## Source
PyTorch 2.13 waits for another process's build in `wait` of `torch/utils/file_baton.py`. allranks looks for
this frame in stacks.

Topic: software
"""

from __future__ import annotations

from allranks.core.causes import Cause
from allranks.diagnose.complaints import Complaint
from allranks.diagnose.symptom import Pattern

CAUSE = Cause(
    __name__,
    is_outage=True,
    fix_of_rank="on {node}: allranks check names the file `lock`; where no process has it open, remove it.",
)
_BUILD = (
    r"(?:torch[_ ]extensions?|extensions? (?:module|root|builds?)|c(?:pp|\+\+)(?:/cuda)?[ _]extensions?"
    r"|(?:load|build|compil)\w{0,5} \w{1,40} extensions?|pytorch (?:plugin|extensions?)|extension \(jit\)"
    r"|load_\w{1,40}_extension|fused kernels|op[-_ ]?builder|file_baton|cpp_extension|jit_load)"
)
_WAITS = (
    r"(?:hang(?:s|ing)?|hung|stuck(?:s|ed)?|freez\w{1,3}|frozen|wait(?:s|ing)? (?:forever|for)|forever"
    r"|deadlock\w{0,3}"
    r"|(?:stale|file)[ -](?:based )?lock\w{0,3}|lock[ _]?files?)"
)
COMPLAINT = Complaint(
    subject=rf"(?i)\b{_WAITS}\b.{{0,120}}{_BUILD}|{_BUILD}.{{0,120}}\b{_WAITS}\b",
)
PATTERNS = (
    Pattern(
        "file_baton.py",
        r"file_baton\.py\W{1,3}line \d{1,6},? in wait\b",
        frame=("wait", "file_baton.py"),
    ),
    Pattern("file_baton.py", r"\bwait \([^)]{0,200}file_baton\.py"),  # py-spy
    Pattern("Lock file exists in build directory", weight=60),
)
