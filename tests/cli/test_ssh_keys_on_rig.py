"""`ssh-keys` with OpenSSH's own programs: real sshd that ask for a password, and a host key that nobody knows."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.harness.on_rig import RigDesk, machines
from tests.rig.rig import STATE, Rig, address

pytestmark = pytest.mark.rig

PASSWORD = "rig-only"
CONFIG = f"Host *\n  UserKnownHostsFile {STATE}/known_hosts\n  GlobalKnownHostsFile /dev/null\n  IdentityAgent none\n"

rig = machines(2)


@pytest.fixture
def person(rig: Rig, tmp_path: Path) -> RigDesk:
    """Someone with a fresh key and the password of `trainee` on both nodes, which do not have the key. ssh takes its
    settings from here, since it does not look at HOME; it asks a program for the password, as it asks a terminal."""
    for number in (1, 2):
        rig.run(number, ["useradd", "-m", "-s", "/bin/sh", "trainee"])
        rig.run(number, ["chpasswd"], input=f"trainee:{PASSWORD}\n".encode())
    programs, home = tmp_path / "bin", tmp_path / "desk"
    programs.mkdir()
    for name, text in (
        ("ssh", f'exec /usr/bin/ssh -F {tmp_path}/config "$@"'),
        ("password", f"echo asked >> {tmp_path}/asked; echo {PASSWORD}"),
    ):
        (programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (programs / name).chmod(0o755)
    (tmp_path / "config").write_text(CONFIG)
    environment = {
        "PATH": f"{programs}:/usr/local/bin:/usr/bin:/bin",
        "SSH_ASKPASS": str(programs / "password"),
        "SSH_ASKPASS_REQUIRE": "force",
    }
    desk = RigDesk(rig, home, environment)
    key = home / ".ssh" / "id_ed25519"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "me@laptop", "-f", key], check=True)
    return desk


def test_the_key_gets_to_nodes_that_ask_for_a_password(rig: Rig, person: RigDesk, tmp_path: Path) -> None:
    nodes = f"trainee@{address(1)},trainee@{address(2)}"
    line = (tmp_path / "desk" / ".ssh" / "id_ed25519.pub").read_text().strip()
    keys = "/home/trainee/.ssh/authorized_keys"

    shown = person("ssh-keys", nodes, "-n", code=1).stdout
    assert line in shown and shown.count("ssh-copy-id ") == 2 and PASSWORD not in shown
    assert rig.run(1, ["test", "-e", keys], check=False).returncode == 1 and not (tmp_path / "asked").exists()

    done = person("ssh-keys", nodes, "-y", code=0)
    assert "every node accepts your key." in done.stdout
    assert PASSWORD not in done.stdout + done.stderr
    for number in (1, 2):
        held = rig.run(number, ["cat", keys]).stdout.decode().splitlines()
        assert [one for one in held if one.strip()] == [line]
    assert len((tmp_path / "asked").read_text().splitlines()) == 2

    assert "every node accepts your key." in person("ssh-keys", nodes, code=0).stdout
    assert len((tmp_path / "asked").read_text().splitlines()) == 2

    (tmp_path / "config").write_text(CONFIG.replace(f"{STATE}/known_hosts", f"{tmp_path}/nobody"))
    refused = person("ssh-keys", nodes, "-y", code=1)
    assert "Host key verification failed" in refused.stderr and "ssh-copy-id" not in refused.stdout
