"""Which keys this machine had to offer when a node refused the login: none, only locked ones, or wrong ones."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import asyncssh
from asyncssh.config import SSHClientConfig

DEFAULTS = ("id_rsa", "id_ecdsa", "id_ecdsa_sk", "id_ed25519", "id_ed25519_sk", "id_xmss", "id_dsa")
"""ssh_config(5), IdentityFile."""

NO_KEY = ("no-key", "this machine has no SSH key to offer, neither in a file nor in an agent")
REFUSED = "permission-denied"


async def keys_at_hand(settings: SSHClientConfig) -> tuple[str, str]:
    """The cause of a refused login, and a sentence."""
    named: Any = settings.get("IdentityFile") or ()
    files = [Path(name).expanduser() for name in named]
    files = files or [Path("~/.ssh").expanduser() / name for name in DEFAULTS]
    usable = [str(path) for path in files if opens(path)]
    in_agent = await of_agent(settings)
    locked = [str(path) for path in files if path.exists() and str(path) not in usable]
    offered = [*usable, *(["those of the agent"] if in_agent else [])]
    if offered:
        return REFUSED, f"it accepts none of the keys offered: {', '.join(offered)}"
    if locked:
        return "key-locked", f"{locked[0]} has a passphrase, and no agent holds it"
    return NO_KEY


def opens(path: Path) -> bool:
    """Whether a key is there that needs no passphrase."""
    try:
        asyncssh.read_private_key(path)
    except (OSError, ValueError):
        return False
    return True


async def of_agent(settings: SSHClientConfig) -> int:
    """How many keys the agent holds; 0 if there is none that answers."""
    path: Any = settings.get("IdentityAgent") or ""
    with contextlib.suppress(OSError, ValueError, asyncssh.Error):
        async with await asyncssh.connect_agent(path) as agent:
            return len(await agent.get_keys())
    return 0
