"""Nobody else on a node can bring code into what runs as the user: the home, its folders and the bundle in it."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import pytest

from allranks.core import BadInput
from allranks.node import bundle, paths
from allranks.runs import index

ALICE, MALLORY, GROUP = 20001, 20002, 20000
root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to act as two other users")


def call(arguments, home, stdin=b"", umask=0o022, python=sys.executable, **how):
    env = {"PATH": os.environ["PATH"], "ALLRANKS_HOME": str(home)}
    done = subprocess.run(
        [python, *arguments],
        input=stdin,
        capture_output=True,
        timeout=60,
        env=env,
        preexec_fn=lambda: os.umask(umask) and None,
        **how,
    )
    return done.returncode, json.loads(done.stdout), done.stderr


def version(home, **how):
    return call(bundle.command("version"), home, **how)


def send(home, **how):
    return call(bundle.receive_command(), home, bundle.build(), **how)


def mode(path) -> int:
    return stat.S_IMODE(os.stat(path).st_mode)


# ---- who makes the home makes it private ----


@pytest.mark.lengthy
@pytest.mark.parametrize("umask", [0o022, 0o002, 0o000])
def test_the_home_and_what_is_above_it_are_private_whatever_the_umask(tmp_path, umask):
    home = tmp_path / "new" / "home"
    code, stored, _ = send(home, umask=umask)
    assert code == 0
    assert [mode(p) for p in (home.parent, home, home / "bundles", stored["bundle"])] == [0o700] * 3 + [0o600]
    assert version(home, umask=umask)[0] == 0


@pytest.mark.parametrize(
    "make",
    [
        lambda home: bundle.install(),
        lambda home: paths.RunDirectory("r1").create(node="n"),
        lambda home: paths.make_private(str(home / "environments" / "one")),
        lambda home: index.write("r1", {"id": "r1"}),
    ],
    ids=["bundle", "run directory", "folder in it", "index"],
)
def test_every_maker_of_the_home_makes_it_private(tmp_path, monkeypatch, make):
    home = tmp_path / "home"
    monkeypatch.setenv("ALLRANKS_HOME", str(home))
    before = os.umask(0)
    try:
        make(home)
    finally:
        os.umask(before)
    assert {str(p): mode(p) for p in [home, *home.rglob("*")] if p.is_dir() and mode(p) != 0o700} == {}


# ---- what others can write to is refused ----


@pytest.mark.parametrize("place", ["", "bundles", "zip"])
@pytest.mark.parametrize("bits", [0o020, 0o002])
def test_a_home_bundles_or_zip_that_others_can_write_to_is_refused(home, place, bits):
    zipped = bundle.install()
    path = {"": str(home), "bundles": str(home / "bundles"), "zip": zipped}[place]
    os.chmod(path, mode(path) | bits)
    code, told, _ = version(home)
    assert code == 1 and told["home"] == "unsafe"
    assert told["error"].startswith(f"{path}: other users can write to it")
    assert told["error"].endswith(f"chmod go-w {path}")
    os.chmod(path, mode(path) & ~0o022)
    assert version(home)[0] == 0


def test_nothing_is_stored_in_a_home_that_others_can_write_to(home):
    os.chmod(home, 0o777)
    code, told, _ = send(home)
    assert code == 1 and "chmod go-w" in told["error"]
    assert list(home.glob("bundles/*")) == []


def test_a_home_that_others_can_only_read_is_taken_as_it_is(home):
    os.chmod(home, 0o755)
    bundle.install()
    assert version(home)[0] == 0 and mode(home) == 0o755


@pytest.mark.lengthy
def test_a_folder_above_that_others_can_write_to_is_refused_unless_it_is_sticky(tmp_path):
    above = tmp_path / "project"
    above.mkdir()
    home = above / "home"
    os.chmod(above, 0o777)
    code, told, _ = send(home)
    assert code == 1 and f"other users can write to {above} (mode 0777)" in told["error"]
    os.chmod(above, 0o1777)
    assert send(home)[0] == 0 and version(home)[0] == 0
    os.chmod(above, 0o777)
    code, told, _ = version(home)
    assert (code, told["home"]) == (1, "unsafe") and f"chmod +t {above}" in told["error"]


@pytest.mark.lengthy
def test_a_link_to_the_home_is_followed_and_both_places_are_looked_at(tmp_path):
    real = tmp_path / "shared" / "home"
    real.parent.mkdir()
    link = tmp_path / "link"
    link.symlink_to(real)
    real.mkdir(mode=0o700)
    assert send(link)[0] == 0 and version(link)[0] == 0
    os.chmod(real.parent, 0o777)
    assert version(link)[1]["home"] == "unsafe"


def test_a_link_a_fifo_or_a_folder_in_the_place_of_the_zip_is_not_opened(home):
    zipped = Path(bundle.install())
    other = home / "other.zip"
    zipped.rename(other)
    for make in (lambda: zipped.symlink_to(other), lambda: os.mkfifo(zipped), lambda: zipped.mkdir()):
        make()
        code, told, _ = version(home)
        assert (code, told["bundle"]) == (bundle.MISSING_CODE, "missing")
        (zipped.rmdir if zipped.is_dir() and not zipped.is_symlink() else zipped.unlink)()


def test_the_index_of_a_home_that_others_can_write_to_is_not_believed(home):
    index.write("r1", {"id": "r1"})
    assert [entry["id"] for entry in index.entries()] == ["r1"]
    for path in (home / "index", home):
        os.chmod(path, 0o770)
        with pytest.raises(BadInput, match=f"{path}: other users can write"):
            index.entries()
        os.chmod(path, 0o700)


# ---- what was compared is what runs ----


def test_what_lies_at_the_path_after_the_look_does_not_run(home, tmp_path):
    """The file is replaced between its one reading and the first line of it: even its own user cannot."""
    zipped = bundle.install()
    evil = tmp_path / "evil.zip"
    with zipfile.ZipFile(evil, "w") as archive:
        archive.writestr("__main__.py", "print('{\"owned\": true}')")
        archive.writestr("allranks/node/program.py", "print('{\"owned\": true}')")
    *flags, boot, path, digest, verb = bundle.command("version")
    swap = (
        "one = read\ndef read(path):\n"
        f"    data = one(path)\n    os.replace({str(evil)!r}, {zipped!r})\n    return data\n"
    )
    text = bundle._private()
    assert boot.startswith(text)
    code, told, errors = call([*flags, text + swap + boot[len(text) :], path, digest, verb], home)
    assert (code, errors) == (0, b"") and "version" in told and not evil.exists()


# ---- the attack of another user ----


@pytest.fixture
def field():
    """A folder that both users can enter, and a Python that both can start."""
    folder = tempfile.mkdtemp(dir="/tmp")
    os.chmod(folder, 0o755)
    own = Path(folder) / "alice"
    own.mkdir(mode=0o755)
    os.chown(own, ALICE, GROUP)
    yield own / "home"
    shutil.rmtree(folder)


def user(uid: int, umask: int = 0o002) -> dict:
    python = shutil.which("python3", path="/usr/bin:/usr/local/bin")
    assert python is not None
    return {"user": uid, "group": GROUP, "extra_groups": [], "umask": umask, "python": python, "cwd": "/"}


def as_mallory(code: str, *words: str) -> subprocess.CompletedProcess:
    how = user(MALLORY)
    return subprocess.run(
        [how.pop("python"), "-c", code, *words], capture_output=True, text=True, timeout=60, **how
    )


PLANT = """
import os, sys
home, bundles = sys.argv[1], sys.argv[1] + "/bundles"
if os.path.exists(bundles):
    os.rename(bundles, home + "/moved-away")
os.mkdir(bundles, 0o755)
os.mkfifo(bundles + "/" + sys.argv[2] + ".zip", 0o644)
"""


@pytest.mark.lengthy
@root
@pytest.mark.parametrize("umask", [0o002, 0o000])
def test_a_member_of_the_same_group_cannot_put_a_bundle_into_the_home(field, umask):
    alice = user(ALICE, umask)
    assert send(field, **alice)[0] == 0
    attack = as_mallory(PLANT, str(field), bundle.digest())
    assert attack.returncode == 1 and "PermissionError" in attack.stderr
    code, told, errors = version(field, **alice)
    assert (code, errors) == (0, b"") and "version" in told


@root
def test_a_home_that_an_older_version_left_open_is_refused_after_the_attack_and_before_it(field):
    alice = user(ALICE)
    field.mkdir()
    os.chown(field, ALICE, GROUP)
    os.chmod(field, 0o775)
    code, told, _ = version(field, **alice)
    assert (code, told["home"]) == (1, "unsafe") and told["error"].endswith(f"chmod go-w {field}")
    assert as_mallory(PLANT, str(field), bundle.digest()).returncode == 0
    os.chmod(field, 0o700)  # alice does what the message says; mallory's folder is in it
    code, told, _ = version(field, **alice)
    assert (code, told["home"]) == (1, "unsafe")
    assert f"{field}/bundles: user {MALLORY} owns it, not user {ALICE}" in told["error"]


@root
def test_the_home_of_another_user_is_refused(field):
    assert send(field, **user(ALICE))[0] == 0
    os.chmod(field, 0o755)
    code, told, _ = version(field)  # as root
    assert (code, told["home"]) == (1, "unsafe") and f"user {ALICE} owns it, not user 0" in told["error"]


@root
def test_a_folder_above_of_the_users_own_group_is_accepted_and_of_a_shared_group_is_not(field):
    """Where each user has a group of the same number, umask 002 makes every folder writable for that group."""
    os.chmod(field.parent, 0o775)
    assert send(field, **user(ALICE))[0] == 1
    os.chown(field.parent, ALICE, ALICE)
    assert send(field, **{**user(ALICE), "group": ALICE})[0] == 0


def test_a_node_says_why_its_home_is_refused(home):
    from allranks.transport import NodeProgram, Unreachable
    from allranks.transport.local import LocalTransport

    bundle.install()
    os.chmod(home, 0o777)
    import asyncio

    with pytest.raises(Unreachable, match="other users can write to it") as caught:
        asyncio.run(NodeProgram(LocalTransport("node-1"), sys.executable).call("version"))
    assert caught.value.cause == "unsafe-home"
