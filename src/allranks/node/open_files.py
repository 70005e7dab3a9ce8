"""The limit of open files of this process."""

from __future__ import annotations

import resource

OTHERS = 512
"""Open files besides those of the nodes."""


def make_room_for(nodes: int, each: int = 1) -> None:
    """Raises the soft limit, if the hard one allows it, for `each` files for each of so many nodes. The keeper holds a
    connection to each node; the controller holds connections, agents' sockets and the pipes of programs."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = nodes * each + OTHERS
    wanted = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
