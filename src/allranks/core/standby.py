"""Ranks on standby (`launch.standby`): the variables and messages that both of their halves know.

A rank on standby is the next attempt's process. It has started, has imported what the rank before it had imported when
it joined (and of torch until its first step), and waits. Its parent is the Python that waits to become the next
attempt's torchrun (`node/standby_ranks.py`); `worker/standby.py` is what it runs.
"""

from __future__ import annotations

import os
from typing import Any, Dict, Mapping

LIST = "ALLRANKS_STANDBY_LIST"
"""The file with what a rank had imported when it joined, and of torch by its first step:
`{modules: [[name, file], …]}`."""

HANDLE = "ALLRANKS_STANDBY_HANDLE"
"""Two descriptors, `READ,WRITE`: the order comes by the first, READY goes to the second."""

READY = b"ready\n"

PLACE = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE")
"""The place of a rank on standby, which it knows from its start. It is not used in another place."""

OF_AN_ATTEMPT = frozenset((
    "GROUP_RANK", "ROLE_RANK", "ROLE_NAME", "GROUP_WORLD_SIZE", "ROLE_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT",
    "TORCH_NCCL_ASYNC_ERROR_HANDLING", "LC_CTYPE",
))  # fmt: skip
"""Variables that torchrun gives a rank (torch 2.13, distributed/elastic/agent/server/local_elastic_agent.py). They are
read when the rank joins, and no library reads them while it is imported. Without a locale, each Python sets LC_CTYPE
for itself (PEP 538)."""

OWN_PREFIXES = ("ALLRANKS_", "TORCHELASTIC_")


def lasting(env: Mapping[str, str]) -> Dict[str, str]:
    """The variables that must be the same when a library is imported ahead: all but those of one attempt."""
    return {
        name: value
        for name, value in env.items()
        if name not in OF_AN_ATTEMPT and not name.startswith(OWN_PREFIXES)
    }


def differences(before: Mapping[str, str], now: Mapping[str, str]) -> Dict[str, Any]:
    """The changes that turn `before` into `now`: `{name: value}`, with None for a variable that is removed."""
    gone: Dict[str, Any] = {name: None for name in before if name not in now and name != "LC_CTYPE"}
    return {**gone, **{name: value for name, value in now.items() if before.get(name) != value}}


def close(*handles: int) -> None:
    for handle in handles:
        try:
            os.close(handle)
        except OSError:
            pass
