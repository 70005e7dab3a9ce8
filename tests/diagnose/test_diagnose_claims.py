"""What a text does not prove is not said of it."""

from __future__ import annotations

import pytest

from allranks.diagnose import diagnose, parse

TRACEBACK = "Traceback (most recent call last):\n"


def of(text):
    return diagnose(parse(text, "run.log"))


def test_a_broken_gpu_wins_over_an_earlier_remark():
    text = (
        "node1: [rank3]: NCCL WARN Call to ibv_modify_qp failed with error Connection timed out\n"
        f"node1: [rank3]: {TRACEBACK}node1: [rank3]: RuntimeError: CUDA error: uncorrectable ECC error encountered\n"
    )
    found = of(text)
    assert (found.cause, found.where.rank, found.where.node) == ("xid-gpu-fault", 3, "node1")


def test_a_streams_error_alone_does_not_prove_a_full_disk():
    text = TRACEBACK + "RuntimeError: [enforce fail at inline_container.cc:603] . unexpected pos 704 vs 598\n"
    assert (of(text).cause, of(text).confidence) == ("disk-full-checkpoint", "likely")
    text += TRACEBACK + "OSError: [Errno 28] No space left on device\n"
    assert of(text).confidence == "certain"


@pytest.mark.parametrize("number", [101, 110, 113])
def test_ipv6_that_has_no_route_is_no_firewall(number):
    text = (
        "[W socket.cpp:697] [c10d] The client socket has failed to connect to "
        f"[2001:db8::11]:29500 (errno: {number} - Network is unreachable).\nprocess group ready\n"
    )
    assert of(text + "step 1 loss 2.0\n").cause == "benign-noise"


def test_an_unnamed_nccl_error_is_not_called_a_lost_peer():
    text = TRACEBACK + (
        "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1691, unhandled cuda error\n"
        "ncclUnhandledCudaError: Call to CUDA function failed.\n"
    )
    assert (of(text).cause, of(text).confidence) == ("nccl-error-unexplained", "likely")


@pytest.mark.parametrize(
    "code",
    [
        'raise RuntimeError("No CUDA GPUs are available")',
        'assert n % world_size == 0, "Batch size must be divisible by world size"',
        'print("CUDA error: out of memory")',
        "# CUDA error: device-side assert triggered",
    ],
)
def test_a_line_of_a_program_is_no_statement(code):
    """Scripts print themselves into their logs, and tracebacks show lines of code."""
    assert of(f"    {code}\nstep 1 loss 2.0\nstep 2 loss 1.9\n").cause == "benign-noise"
