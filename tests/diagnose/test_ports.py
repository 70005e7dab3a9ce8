"""A process that looks for its store at another port than the rest of its job."""

from __future__ import annotations

import pytest

from allranks.diagnose import diagnose, parse

SOUGHT = (
    "[E1130 12:03:17.922700166 socket.cpp:1028] [c10d] The client socket has timed out after 21000ms while trying to "
    "connect to (127.0.0.1, {}).\n"
)
WAITS = (
    "[W1130 12:03:18.780089754 socket.cpp:469] [c10d] waitForInput: poll for socket SocketImpl(fd=4, "
    "addr=[::ffff:127.0.0.1]:50324, remote=[::ffff:127.0.0.1]:{}) returned 0, likely a timeout\n"
)
JOINED = (
    "torch.distributed.DistStoreError: Timed out after 22 seconds waiting for clients. 2/3 clients joined.\n"
)


@pytest.mark.parametrize(
    ("told", "rank"),
    [
        ("charlie: rank 2, store at 127.0.0.1:{}\n", 2),
        ("node 1: joining 127.0.0.1:{} as 1 of 3\n", 1),
        ("14:15:17 worker-2: rendezvous 127.0.0.1:{} world 3\n", 2),
        ("[rank3]: MASTER_PORT={}\n", 3),
        ("connecting to 127.0.0.1:{}\n", None),
    ],
)
def test_the_rank_with_another_port(told: str, rank: int | None) -> None:
    others = told.replace("2", "0").replace("[rank3]", "[rank0]").format(4117)
    text = others + told.format(4171) + SOUGHT.format(4171) + WAITS.format(4117) + JOINED
    found = diagnose(parse(text, "x.log"))
    assert (found.cause, found.where.rank) == ("launch-args-mismatch", rank)


@pytest.mark.parametrize(
    "text",
    [
        SOUGHT.format(4117) + WAITS.format(4117) + JOINED,
        SOUGHT.format(4171) + JOINED,
        WAITS.format(4117) + JOINED,
        SOUGHT.format(4171) + SOUGHT.format(4172) + WAITS.format(4117) + JOINED,
    ],
)
def test_ports_that_do_not_tell_who_is_wrong(text: str) -> None:
    assert diagnose(parse(text, "x.log")).cause in ("rendezvous-timeout", "master-unreachable-firewall")
