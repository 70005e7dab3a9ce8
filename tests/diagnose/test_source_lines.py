"""Lines of programs, settings, tables and documents report nothing, whatever words they hold."""

from __future__ import annotations

import pytest

from allranks.diagnose import diagnose, parse
from allranks.diagnose.source_lines import is_source

SOURCE = [
    "from torch_npu.asd import errors",
    "import habana_frameworks.torch as htorch",
    "export HYDRA_FULL_ERROR=1",
    'echo "$n: ssh FAILED"',
    'requires-python = ">=3.11"',
    "static aclError Set(aclOption opt, const char* value);",
    'HCCL_ERROR("[%s] call failed: ret %d", name, ret); \\',
    "except pynvml.NVMLError:",
    '{"question": "He gave away half, was refused twice and lost 3."}',
    "| `RendezvousConnectionError` on the cluster | Use `--nodes 1` |",
    "#include <nccl_errors.h>",
    '"ename": "DatasetGenerationError",',
    "<b>error</b>: CUDA was lost",
    "[hpu_match]: DataLoader(a=1, b=2, c=None, timeout=0, d=4, e=5, f=False, g=7, h=8) --> hpu",
    "The job failed on every node. It was started again by a person. "
    + "Then the network of the cluster was repaired by somebody. " * 6,
]
BY_PATTERN = ("HCCL_ERROR", "RendezvousConnectionError", "DatasetGenerationError")
"""Words that a pattern knows, in any line."""

MESSAGES = [
    "ValueError: the ratio must be positive",
    "RuntimeError: CUDA out of memory. Tried to allocate 2 GiB.",
    "srun: error: node1: task 0: Killed",
    "ssh: connect to host worker-3 port 22: Connection refused",
    "[rank0]: OSError: [Errno 28] No space left on device",
    "训练过程中程序突然被杀死",
]


@pytest.mark.parametrize("line", SOURCE)
def test_a_line_of_a_program_or_a_document_reports_nothing(line: str) -> None:
    assert is_source(line)
    if not any(word in line for word in BY_PATTERN):
        assert diagnose(parse(f"{line}\n", "x.log")).cause == "unproven"


@pytest.mark.parametrize("line", MESSAGES)
def test_a_message_is_none(line: str) -> None:
    assert not is_source(line)


def test_a_bandwidth_test_that_ended_is_healthy_in_spite_of_warnings() -> None:
    text = "[n1:12] PMIX ERROR: ERROR in file gds_ds12_lock_pthread.c at line 168\n" * 3
    assert diagnose(parse(text + "# Avg bus bandwidth    : 92.41\n#\n", "x.log")).cause in (
        "unproven",
        "benign-noise",
    )
