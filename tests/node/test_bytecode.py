"""What was compiled of the bundle is kept beside it, used once it is whole and ours, and never needed."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from allranks.node import bundle, bytecode


@pytest.fixture
def sent(home) -> str:
    return bundle.install()


def version(**env: str) -> dict:
    done = subprocess.run(
        [sys.executable, *bundle.command("version")],
        capture_output=True,
        timeout=60,
        env={**os.environ, **env},
    )
    assert (done.returncode, done.stderr) == (0, b"")
    return json.loads(done.stdout)


def kept(sent: str) -> str:
    (path,) = [p for p in os.listdir(os.path.dirname(sent)) if p != os.path.basename(sent)]
    return os.path.join(os.path.dirname(sent), path)


def test_the_second_call_takes_its_modules_from_what_the_first_compiled(sent):
    first = version()
    path = kept(sent)
    codes = bytecode.read(path)
    assert "allranks.node.program" in codes and os.stat(path).st_mode & 0o777 == 0o600

    # told apart by what the kept code does: it is not the source's
    changed = compile("def main(words, keep):\n    print('{\"kept\": true}')\n    return 0\n", "kept", "exec")
    holder = bytecode.Kept(sent, bytes.fromhex(path.split(".")[-2]))
    holder.add("allranks.node.program", changed)
    holder.save()
    assert version() == {"kept": True}
    os.unlink(path)
    assert version() == first


def damaged(path: str) -> None:
    with open(path, "r+b") as file:
        file.seek(200)
        file.write(b"\xff" * 50)


def cut(path: str) -> None:
    os.truncate(path, 20)


def empty(path: str) -> None:
    os.truncate(path, 0)


def writable_by_others(path: str) -> None:
    os.chmod(path, 0o622)


def a_link(path: str) -> None:
    os.rename(path, path + ".elsewhere")
    os.symlink(path + ".elsewhere", path)


@pytest.mark.parametrize("harm", [damaged, cut, empty, writable_by_others, a_link])
def test_what_is_not_whole_and_ours_is_passed_over(sent, harm):
    first = version()
    path = kept(sent)
    assert bytecode.read(path)
    harm(path)
    assert bytecode.read(path) == {}
    assert version() == first


def test_of_another_user_is_passed_over(sent, monkeypatch):
    version()
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert bytecode.read(kept(sent)) == {}


def test_a_disk_that_takes_nothing_costs_nothing(sent):
    """Also as root, who may write everywhere: a folder stands in the file's place."""
    first = version()
    path = kept(sent)
    os.unlink(path)
    os.mkdir(path)
    assert version() == first
    assert sorted(os.listdir(os.path.dirname(sent))) == sorted(
        [os.path.basename(sent), os.path.basename(path)]
    )
