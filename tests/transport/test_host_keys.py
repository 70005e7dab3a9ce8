"""Which files say what a host key is, as ssh_config says; each file parsed once."""

from __future__ import annotations

from pathlib import Path

import asyncssh
import pytest

from allranks.transport import host_keys
from allranks.transport.host_keys import HostKeys, settings_of

KEYS = [asyncssh.generate_private_key("ssh-ed25519") for _ in range(3)]


def public(number: int) -> str:
    return KEYS[number].export_public_key().decode().strip()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with a known host, a site-wide file with another, and one that only a configuration names."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh" / "known_hosts").write_text(f"mine {public(0)}\n")
    (tmp_path / "site").write_text(f"theirs {public(1)}\n")
    (tmp_path / "other").write_text(f"third {public(2)}\n")
    monkeypatch.setattr(host_keys, "GLOBAL_FILES", (str(tmp_path / "site"),))
    return tmp_path


def known(home: Path, keys: HostKeys, *lines: str, host: str = "node") -> set[str]:
    (home / "config").write_text("\n".join([*lines, ""]))
    here = keys.of(settings_of([str(home / "config")], host, None, None))
    return {name for name in ("mine", "theirs", "third") if here.knows(name, 22)}


def test_the_users_file_and_the_sites_are_read(home: Path) -> None:
    assert known(home, HostKeys()) == {"mine", "theirs"}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("UserKnownHostsFile {home}/other", {"third", "theirs"}),
        ("GlobalKnownHostsFile /dev/null", {"mine"}),
        ("UserKnownHostsFile none", {"theirs"}),
        ("UserKnownHostsFile ~/other {home}/site", {"third", "theirs"}),
        ("Match host elsewhere\n UserKnownHostsFile none", {"mine", "theirs"}),
    ],
)
def test_a_configuration_names_others(home: Path, line: str, expected: set[str]) -> None:
    assert known(home, HostKeys(), line.format(home=home)) == expected


def test_the_nodes_of_a_verb_share_one_reading(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read, seen = host_keys.read, []
    monkeypatch.setattr(host_keys, "read", lambda paths: (seen.append(paths), read(paths))[1])
    keys = HostKeys()
    for number in range(50):
        known(home, keys, host=f"node{number}")
    assert len(seen) == 1


def test_a_pinned_key_is_known_at_once_and_written_for_its_owner_alone(home: Path) -> None:
    keys = HostKeys(accept_new=True)
    here = keys.of(settings_of([], "new", None, None))
    here.pin("new", 2222, KEYS[2].convert_to_public())
    assert keys.of(settings_of([], "another", None, None)).knows("new", 2222)
    path = home / ".ssh" / "known_hosts"
    assert path.read_text().splitlines() == [f"mine {public(0)}", f"[new]:2222 {public(2)}"]


def test_lines_that_nobody_can_read_do_not_hide_the_others(home: Path) -> None:
    path = home / ".ssh" / "known_hosts"
    path.write_bytes(
        b"garbage\n@nobody x y\n|1|%% \xff\xfe key\nmine " + public(0).encode() + b"\n|9|a|b ssh-rsa AAAA\n"
    )
    assert known(home, HostKeys()) == {"mine", "theirs"}


@pytest.mark.parametrize("end", ["", "\n"])
def test_a_new_key_is_not_glued_to_a_last_line_without_an_end(tmp_path: Path, monkeypatch, end: str) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    first, second = (asyncssh.generate_private_key("ssh-ed25519") for _ in range(2))
    file = tmp_path / ".ssh" / "known_hosts"
    file.parent.mkdir()
    file.write_text(f"first {first.export_public_key().decode().strip()}{end}")
    HostKeys(accept_new=True).of(settings_of([], "second", None, None)).pin("second", 22, second)
    known = HostKeys().of(settings_of([], "first", None, None))
    assert known.knows("first", 22) and known.knows("second", 22)
    assert len(file.read_text().splitlines()) == 2


def test_a_key_of_port_22_or_of_an_earlier_name_is_not_one_of_another_port(
    tmp_path: Path, monkeypatch
) -> None:
    """Several nodes behind one gateway have keys of their own."""
    monkeypatch.setenv("HOME", str(tmp_path))
    key = asyncssh.generate_private_key("ssh-ed25519").export_public_key().decode().strip()
    file = tmp_path / ".ssh" / "known_hosts"
    file.parent.mkdir()
    file.write_text(f"gw {key}\n[gw]:2201 {key}\n10.0.0.7 {key}\n*.lab {key}\n")
    known = HostKeys().of(settings_of([], "gw", None, None))
    asked = [
        ("gw", 22),
        ("gw", None),
        ("gw", 2201),
        ("gw", 2202),
        ("new", 22),
        ("10.0.0.7", 22),
        ("a.lab", 22),
    ]
    assert [known.knows(*one) for one in asked] == [True, True, True, False, False, True, True]
