"""The rendezvous port that the head holds for a run: nobody else gets it, and the run's own store listens on it."""

from __future__ import annotations

import socket

import pytest

from allranks.node.reserved_port import reserve, with_port
from tests.harness import free_port


@pytest.fixture
def first() -> int:
    return free_port()


def test_two_runs_never_hold_one_port(first: int) -> None:
    one, port = reserve(first, first + 20)
    other, another = reserve(first, first + 20)
    assert one is not None and other is not None
    with one, other:
        assert port != another and {port, another} <= set(range(first, first + 21))
        assert reserve(port, port) == (None, 0)


def test_the_runs_own_store_listens_on_it_and_a_stranger_does_not(first: int) -> None:
    held, port = reserve(first, first + 20)
    assert held is not None
    with held:
        with socket.socket() as stranger, pytest.raises(OSError):
            stranger.bind(("127.0.0.1", port))
        # As torch's store does it, over IPv4 and over both, again and again.
        for _ in range(2):
            store = socket.create_server(("", port), family=socket.AF_INET)
            client = socket.create_connection(("127.0.0.1", port))
            with store, client:
                store.accept()[0].close()
                assert client.recv(1) == b""
    with socket.create_server(("", port)):
        pass


def test_a_port_whose_connections_have_just_ended_is_free_and_one_that_listens_is_not(first: int) -> None:
    with socket.create_server(("", first)) as server:
        assert reserve(first, first) == (None, 0)
        client = socket.create_connection(("127.0.0.1", first))
        server.accept()[
            0
        ].close()  # who closes first is left with TIME_WAIT: a plain bind would fail for a minute
        with client:
            assert client.recv(1) == b""
    held, port = reserve(first, first)
    assert held is not None and port == first
    held.close()
    assert reserve(first, first)[1] == first


def test_the_word_of_torchrun_is_filled_in_and_no_other() -> None:
    job = {"argv": ["python", "--master-port=0", "train.py", "--master-port=00"], "rendezvous_port": 0}
    assert with_port(job, 39501) == {
        "argv": ["python", "--master-port=39501", "train.py", "--master-port=00"],
        "rendezvous_port": 39501,
    }
