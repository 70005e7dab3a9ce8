"""One answer to whether a host is the machine itself."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allranks.core.net import is_loopback


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "LOCALHOST",
        "localhost.",
        "127.0.0.1",
        "127.1.2.3",
        "::1",
        "0:0:0:0:0:0:0:1",
        "::1%lo",
        "::ffff:127.0.0.1",
    ],
)
def test_the_machine_itself(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host",
    [
        None,
        "",
        ".",
        "localhost.localdomain",
        "localhost.example.org",
        "127.evil.example",
        "127.0.0.1.example",
        "127.0.0.256",
        "127.1",
        "::2",
        "node-1",
        "0.0.0.0",
        "::",
        "128.0.0.1",
        "127.0.0.1/8",
        "::ffff:10.0.0.1",
    ],
)
def test_anything_else(host: str | None) -> None:
    assert not is_loopback(host)


@given(st.ip_addresses(v=4))
def test_every_address_of_version_4(address: ipaddress.IPv4Address) -> None:
    inside = address in ipaddress.ip_network("127.0.0.0/8")
    assert is_loopback(str(address)) == is_loopback(f"::ffff:{address}") == inside


@given(st.integers(0, 2**24 - 1))
def test_every_address_of_127(number: int) -> None:
    assert is_loopback(str(ipaddress.IPv4Address((127 << 24) + number)))


@given(st.ip_addresses(v=6) | st.just(ipaddress.IPv6Address(1)))
def test_an_address_in_full_is_the_same_address(address: ipaddress.IPv6Address) -> None:
    assert is_loopback(str(address)) == is_loopback(address.exploded)


@given(st.text())
def test_any_text_has_an_answer(text: str) -> None:
    assert is_loopback(text) in (True, False)
