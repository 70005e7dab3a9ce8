"""One table tells the ranks, the monitor and `diagnose` which exceptions only say that another rank is gone."""

from __future__ import annotations

import pytest

from allranks.core import Event, communication
from allranks.diagnose import Evidence, Line
from allranks.monitor import culprit
from allranks.worker import failures

Torchs = type("DistBackendError", (RuntimeError,), {})
Store = type("DistStoreError", (RuntimeError,), {})
Rays = type("ActorDiedError", (Exception,), {})
Rendezvous = type("RendezvousTimeoutError", (Exception,), {})
Torchs.__module__ = Store.__module__ = "torch.distributed"
Connection = type("ProtocolError", (Exception,), {})

OTHERS = [
    Torchs("NCCL error in: /pytorch/NCCLUtils.cpp:268, unhandled cuda error"),
    Store("Timed out after 61 seconds waiting for clients. 3/4 clients joined."),
    Rays("The actor died unexpectedly before finishing this task."),
    Rendezvous("3 of 4 nodes came"),
    RuntimeError(
        "[/third_party/gloo/gloo/transport/tcp/pair.cc:546] Connection closed by peer [10.0.0.2]:3542"
    ),
    RuntimeError("[/third_party/gloo/gloo/transport/tcp/pair.cc:581] Read error: Connection reset by peer"),
    RuntimeError("Connection reset by peer"),
    RuntimeError("Broken pipe"),
    RuntimeError("Timed out waiting 1800000ms for recv operation to complete"),
    RuntimeError(
        "The client socket has timed out after 60000ms while trying to connect to (10.0.0.1, 29500)."
    ),
    RuntimeError("The server socket has failed to listen on any local network address."),
    RuntimeError("Gloo connectFullMesh failed with [..] no error"),
    RuntimeError("wait timeout after 300000ms, keys: /default_pg/0//cuda//timeout_dump"),
    RuntimeError("Socket Timeout"),
    RuntimeError("NCCL communicator was aborted on rank 3."),
    RuntimeError("Rank 0: Ranks 2 failed to pass monitoredBarrier in 30000 ms"),
    RuntimeError(
        "[Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=8, OpType=ALLREDUCE)"
    ),
    RuntimeError("Timed out initializing process group in store based barrier on rank: 0"),
    RuntimeError("TCPStore: Connection refused"),
]
OWN = [
    ConnectionResetError(104, "Connection reset by peer"),
    BrokenPipeError(32, "Broken pipe"),
    ConnectionRefusedError(111, "Connection refused"),
    TimeoutError(110, "Connection timed out"),
    Connection("Connection broken: Connection reset by peer"),
    RuntimeError("[/third_party/gloo/gloo/transport/tcp/device.cc:84] Unable to find address for: bond0"),
    RuntimeError("CUDA out of memory. Tried to allocate 20.00 MiB"),
    RuntimeError("NCCL Error 1: unhandled cuda error"),
    ValueError("could not convert string to float"),
    KeyError("tcp"),
]


def answers(error):
    """What the rank, `diagnose` and the monitor say of one exception; the last from a file without the rank's word."""
    type_, text = type(error).__name__, str(error)
    seen = Evidence()
    for line in ("Traceback (most recent call last):", f"{type_}: {text}"):
        seen.add(Line(line, rank=0))
    event = Event(1.0, "exception", "a", 0, {"type": type_, "message": text})
    return (
        failures.is_communication(error),
        seen.raised()[0][1].communication,
        culprit.is_communication(event),
    )


@pytest.mark.parametrize("error", OTHERS, ids=lambda e: str(e)[:40])
def test_all_three_take_it_for_an_echo(error):
    assert answers(error) == (True, True, True)


@pytest.mark.parametrize("error", OWN, ids=lambda e: str(e)[:40])
def test_none_takes_a_ranks_own_fault_for_an_echo(error):
    assert answers(error) == (False, False, False)


def test_a_base_class_counts_where_it_is_known():
    derived = type("Gone", (Torchs,), {})
    assert failures.is_communication(derived("x")) and not communication.is_communication(["Gone"], "x")
