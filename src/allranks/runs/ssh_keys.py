"""`ssh-keys`: installs one public key on nodes that still ask for a password, with ssh-copy-id.

ssh itself asks for passwords, at the terminal; allranks does not see them. Host keys are verified as always. It does
not remove anything from a node, and it adds only the key that it has shown.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from allranks.core import BadInput, Node, Problem
from allranks.core.text import last_line
from allranks.transport.ssh import CONNECT_SECONDS, LOGIN_SECONDS

NAMES = ("id_ed25519", "id_ecdsa", "id_rsa")
"""Keys that ssh offers by itself (ssh_config(5), IdentityFile) and that sshd accepts without more options."""

LINE = re.compile(
    r"(ssh-(ed25519|rsa)|ecdsa-sha2-nistp(256|384|521)|sk-[a-z0-9@.-]+) [A-Za-z0-9+/]+={0,3}( [^\n]*)?"
)
MOST_BYTES = 16 << 10
AT_ONCE = 16


@dataclass(frozen=True)
class PublicKey:
    """A public key. `line` is the line for ~/.ssh/authorized_keys of a node."""

    path: Path
    line: str


def public_key(named: str | None) -> PublicKey:
    """The named key, or the first of the user's own keys. Raises BadInput with the command that makes one."""
    folder = Path("~/.ssh").expanduser()
    if named is not None:
        candidates = [Path(named).expanduser()]
    else:
        candidates = [folder / f"{name}.pub" for name in NAMES]
    path = next((one for one in candidates if one.is_file()), None)
    if path is None:
        saw = f"{named}: no such file" if named else "you have no SSH key on this machine"
        raise BadInput(
            Problem(saw, "nodes accept you by a key.", f"ssh-keygen -t ed25519 -f {folder / NAMES[0]}")
        )
    with path.open("rb") as file:
        line = file.read(MOST_BYTES).decode("utf-8", "replace").strip()
    if not LINE.fullmatch(line) or not line.isprintable():
        do = f"{path}.pub" if path.suffix != ".pub" else "the file that ends with .pub"
        raise BadInput(
            Problem(f"{path} holds no public key of one line", "allranks sends only a public key.", do)
        )
    return PublicKey(path, line)


def target(node: Node) -> list[str]:
    """The port and the `user@host` of a node, as arguments of ssh and ssh-copy-id."""
    port = ["-p", str(node.port)] if node.port else []
    return [*port, f"{node.user}@{node.address}" if node.user else node.address]


def verified(accept_new: bool) -> list[str]:
    """The options that refuse an unknown host key unless the user allowed it, whatever the user's ssh_config says."""
    return ["-o", f"StrictHostKeyChecking={'accept-new' if accept_new else 'yes'}"]


def login_command(node: Node, key: PublicKey, accept_new: bool) -> list[str]:
    """The command for a login with this key alone, without a password."""
    private = str(key.path.with_suffix(""))
    quiet = ["-o", "BatchMode=yes", "-o", f"ConnectTimeout={CONNECT_SECONDS:.0f}", "-o", "IdentitiesOnly=yes"]
    return ["ssh", *verified(accept_new), *quiet, "-i", private, "-T", *target(node), "true"]


def copy_command(node: Node, key: PublicKey, accept_new: bool) -> list[str]:
    return ["ssh-copy-id", *verified(accept_new), "-i", str(key.path), *target(node)]


def lacking(nodes: Iterable[Node], key: PublicKey, accept_new: bool) -> dict[str, str]:
    """The nodes that do not accept the key, each with ssh's message."""

    def one(node: Node) -> tuple[str, str]:
        try:
            done = subprocess.run(
                login_command(node, key, accept_new),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=CONNECT_SECONDS + LOGIN_SECONDS,
            )
        except subprocess.TimeoutExpired:
            return node.name, "it does not answer in time"
        except OSError as error:
            raise BadInput(
                Problem(f"cannot start ssh: {error.strerror}", do="install OpenSSH's client")
            ) from None
        text = done.stderr.decode("utf-8", "replace")
        return node.name, "" if done.returncode == 0 else last_line(text, f"exit code {done.returncode}")

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return {name: why for name, why in pool.map(one, nodes) if why}


def asks_for_key(why: str) -> bool:
    """Whether a key would help: the node answered, its host key is known, and it refused the login."""
    return "Permission denied" in why or "Too many authentication failures" in why


def copy(node: Node, key: PublicKey, accept_new: bool) -> int:
    """Runs ssh-copy-id at the user's terminal. Returns its exit code. Raises BadInput if it is not installed."""
    argv: Sequence[str] = copy_command(node, key, accept_new)
    try:
        return subprocess.run(argv).returncode
    except OSError as error:
        problem = Problem(f"cannot start ssh-copy-id: {error.strerror}", do="install OpenSSH's client")
        raise BadInput(problem) from None
