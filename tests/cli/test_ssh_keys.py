"""`ssh-keys`, with programs in the place of ssh and ssh-copy-id: what is shown, asked and called."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from allranks import cli
from allranks.core import BadInput
from allranks.runs import ssh_keys

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB5l me@laptop"

SSH = """#!/bin/sh
echo "ssh $*" >> {0}/called
for host; do [ "$host" = true ] || last=$host; done
case $last in
  *changed) echo "Host key verification failed." >&2; exit 255;;
  *) [ -e {0}/lets-$last ] && exit 0; echo "me@$last: Permission denied (publickey,password)." >&2; exit 255;;
esac
"""
COPY = """#!/bin/sh
echo "ssh-copy-id $*" >> {0}/called
for last; do :; done
[ -e {0}/stubborn ] || touch {0}/lets-$last
"""


@pytest.fixture
def here(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person with a key, and stand-ins for the two programs; `called` has what they were called with."""
    for name, text in (("ssh", SSH), ("ssh-copy-id", COPY)):
        (tmp_path / name).write_text(text.format(tmp_path))
        (tmp_path / name).chmod(0o755)
    (tmp_path / ".ssh").mkdir(mode=0o700)
    (tmp_path / ".ssh" / "id_ed25519.pub").write_text(KEY + "\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return tmp_path


def copies(here: Path) -> list[str]:
    lines = (here / "called").read_text().splitlines() if (here / "called").exists() else []
    return [line for line in lines if line.startswith("ssh-copy-id ")]


def test_the_key_goes_where_it_is_missing_and_nowhere_else(here: Path, capsys) -> None:
    (here / "lets-me@n1").touch()
    assert cli.main(["ssh-keys", "me@n[1-3]", "-y"]) == 0
    said = capsys.readouterr().out
    assert "n[2-3]: ~/.ssh/authorized_keys would get this line:" in said and KEY in said
    key = f"{here}/.ssh/id_ed25519.pub"
    assert copies(here) == [f"ssh-copy-id -o StrictHostKeyChecking=yes -i {key} me@n{n}" for n in (2, 3)]
    assert cli.main(["ssh-keys", "me@n[1-3]"]) == 0 and len(copies(here)) == 2


def test_nothing_is_done_without_a_yes(here: Path, capsys, monkeypatch) -> None:
    assert cli.main(["ssh-keys", "n1"]) == 1
    assert copies(here) == [] and "there is no terminal to confirm" in capsys.readouterr().err
    assert cli.main(["ssh-keys", "n1", "-n"]) == 1
    assert copies(here) == [] and "ssh-copy-id -o StrictHostKeyChecking=yes" in capsys.readouterr().out


def test_a_host_key_that_is_not_the_known_one_stops_it(here: Path, capsys) -> None:
    assert cli.main(["ssh-keys", "changed,n2", "-y"]) == 1
    said = capsys.readouterr()
    assert (
        "changed  Host key verification failed" in said.err
        and "changed: your key is not accepted" in said.err
    )
    assert [line.split()[-1] for line in copies(here)] == ["n2"]
    login = (here / "called").read_text().splitlines()[0]
    assert "StrictHostKeyChecking=yes" in login and "BatchMode=yes" in login


def test_a_node_that_still_refuses_is_named(here: Path, capsys) -> None:
    (here / "stubborn").touch()
    assert cli.main(["ssh-keys", "n1", "-y", "--json", "--accept-new-hosts"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (
        told["nodes"] == [{"node": "n1", "accepts": False}] and "Permission denied" in told["refused"]["n1"]
    )
    assert told["key"] == KEY and told["commands"][0][1:3] == ["-o", "StrictHostKeyChecking=accept-new"]


def test_without_a_key_the_command_that_makes_one_is_named(here: Path, capsys) -> None:
    (here / ".ssh" / "id_ed25519.pub").unlink()
    assert cli.main(["ssh-keys", "n1"]) == 2
    assert "ssh-keygen -t ed25519" in capsys.readouterr().err and not (here / "called").exists()


@pytest.mark.parametrize(
    "text",
    [
        "-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl\n-----END OPENSSH PRIVATE KEY-----\n",
        f"{KEY}\n{KEY}\n",
        f'command="reboot" {KEY}\n',
        f"{KEY}\x1b[31m\n",
        "",
    ],
)
def test_only_one_plain_public_key_leaves_here(here: Path, text: str) -> None:
    (here / "other").write_text(text)
    with pytest.raises(BadInput, match="no public key of one line"):
        ssh_keys.public_key(str(here / "other"))


def test_this_machine_needs_no_key(here: Path, capsys) -> None:
    assert cli.main(["ssh-keys", "localhost"]) == 0
    assert not (here / "called").exists()
