"""The bundle runs from a folder that was unpacked from it; one that is not whole and ours is passed over."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from allranks.node import bundle, private_folder, unpacked

OTHER = "print('{\"other\": true}')\n"


@pytest.fixture
def sent(home: Path) -> Path:
    return Path(bundle.install())


@pytest.fixture
def folder(sent: Path) -> Path:
    """As the first call leaves it."""
    assert "version" in version()
    return sent.with_suffix("")


def version(umask: int = 0o022) -> dict:
    done = subprocess.run(
        [sys.executable, *bundle.command("version")], capture_output=True, timeout=60, umask=umask
    )
    assert (done.returncode, done.stderr) == (0, b"")
    return json.loads(done.stdout)


def marks(folder: Path) -> list[Path]:
    return list(folder.glob(unpacked.MARK + "*"))


def boots(folder: Path) -> None:
    """As after another boot of the machine: nobody knows any more that the folder is whole."""
    for mark in marks(folder):
        mark.unlink()


def holds(folder: Path, sent: Path) -> bool:
    return unpacked.is_whole(str(folder), sent.read_bytes())


def test_the_first_call_unpacks_it_and_the_next_ones_run_from_there(folder: Path, sent: Path) -> None:
    assert sorted(path.name for path in sent.parent.iterdir()) == sorted([folder.name, sent.name])
    program = folder / "allranks" / "node" / "program.py"
    assert list(program.parent.glob("__pycache__/program.*.pyc")), "Python keeps what it compiled"
    program.write_text("def main(words, *_):\n    print('{\"folder\": true}')\n    return 0\n")
    assert version() == {"folder": True}


@pytest.mark.lengthy
@pytest.mark.parametrize("umask", [0o022, 0o000])
def test_nobody_else_can_reach_what_is_in_it(sent: Path, umask: int) -> None:
    version(umask)
    folder = sent.with_suffix("")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    open_to_others = [
        path for path in folder.rglob("*") if path.stat().st_mode & 0o077 and path.name != "__pycache__"
    ]
    assert open_to_others == []


def changed(folder: Path) -> None:
    (folder / "allranks" / "node" / "program.py").write_text(OTHER)


def emptied(folder: Path) -> None:
    os.truncate(folder / "allranks" / "node" / "program.py", 0)


def more(folder: Path) -> None:
    (folder / "argparse.py").write_text(OTHER)
    (folder / "json.py").write_text(OTHER)


def missing(folder: Path) -> None:
    (folder / "allranks" / "node" / "program.py").unlink()


def a_linked_file(folder: Path) -> None:
    program = folder / "allranks" / "node" / "program.py"
    elsewhere = folder.parent / "elsewhere.py"
    program.rename(elsewhere)
    program.symlink_to(elsewhere)


def a_linked_folder(folder: Path) -> None:
    (folder.parent / "elsewhere").mkdir()
    (folder.parent / "elsewhere" / "__init__.py").write_text(OTHER)
    (folder / "json").symlink_to(folder.parent / "elsewhere")


@pytest.mark.lengthy
@pytest.mark.parametrize("harm", [changed, emptied, more, missing, a_linked_file, a_linked_folder])
def test_after_a_boot_a_folder_that_is_not_whole_is_made_anew(
    folder: Path, sent: Path, harm: Callable[[Path], None]
) -> None:
    first = version()
    harm(folder)
    boots(folder)
    assert version() == first and holds(folder, sent)
    assert [path.name for path in folder.parent.glob("*.draft")] == []


@pytest.mark.lengthy
def test_after_a_boot_what_was_compiled_is_not_believed(folder: Path) -> None:
    program = folder / "allranks" / "node" / "program.py"
    (compiled,) = program.parent.glob("__pycache__/program.*.pyc")
    head = compiled.read_bytes()[:16]  # the magic number, and of which source it is
    code = compile("def main(words, *_):\n    print('{\"pyc\": true}')\n    return 0\n", "x", "exec")
    import marshal

    compiled.write_bytes(head + marshal.dumps(code))
    assert version() == {"pyc": True}, "this test makes a file that Python takes"
    boots(folder)
    assert "version" in version() and len(marks(folder)) == 1


def opened_to_others(folder: Path) -> None:
    folder.chmod(0o755)


def writable_by_others(folder: Path) -> None:
    folder.chmod(0o770)


def a_link(folder: Path) -> None:
    folder.rename(folder.parent / "elsewhere")
    folder.symlink_to(folder.parent / "elsewhere")


def a_file(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.write_text("")


@pytest.mark.lengthy
@pytest.mark.parametrize("harm", [opened_to_others, writable_by_others, a_link, a_file])
def test_a_folder_that_is_not_ours_alone_is_passed_over(folder: Path, harm: Callable[[Path], None]) -> None:
    first = version()
    changed(folder)
    harm(folder)
    assert version() == first


@pytest.mark.lengthy
def test_a_folder_that_others_could_reach_is_replaced(folder: Path, sent: Path) -> None:
    """They cannot write to it, and may have written below it."""
    changed(folder)
    folder.chmod(0o755)
    assert "version" in version() and holds(folder, sent)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.lengthy
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to act as another user")
def test_a_folder_of_another_user_is_passed_over(folder: Path) -> None:
    first = version()
    changed(folder)
    os.chown(folder, 20002, 20002)
    assert version() == first


def test_what_killed_calls_left_is_in_nobodys_way_and_goes_when_it_is_old(sent: Path) -> None:
    """A killed call's draft kept all others from unpacking for an hour; what one had moved aside stayed for ever."""
    folder = sent.with_suffix("")
    drafts = [folder.with_name(folder.name + end) for end in (".draft", ".0a.draft", ".0b.draft")]
    for draft in drafts:
        (draft / "allranks").mkdir(parents=True)
        old = draft.stat().st_mtime - unpacked.DRAFT_SECONDS - 60.0
        os.utime(draft, (old, old)) if draft != drafts[0] else None
    (sent.parent / "nothing.draft").symlink_to("nowhere")
    assert "version" in version() and holds(folder, sent)
    assert [draft.exists() for draft in drafts] == [True, False, False]


def during(monkeypatch: pytest.MonkeyPatch, happens: Callable[[str], None]) -> None:
    """Once, in the middle of the next unpacking."""
    whole = zipfile.ZipFile.extractall

    def extractall(archive: zipfile.ZipFile, path: str) -> None:
        monkeypatch.setattr(zipfile.ZipFile, "extractall", whole)
        archive.extract("allranks/__init__.py", path)
        happens(path)
        whole(archive, path)

    monkeypatch.setattr(zipfile.ZipFile, "extractall", extractall)


def test_two_calls_that_unpack_at_the_same_time_leave_one_whole_folder(
    sent: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, data = sent.with_suffix(""), sent.read_bytes()
    drafts = []

    def other(draft: str) -> None:
        during(monkeypatch, drafts.append)
        unpacked.put(str(folder), data, unpacked.MARK + "x")
        drafts.append(draft)
        assert holds(folder, sent), "no call waits for another"

    during(monkeypatch, other)
    unpacked.put(str(folder), data, unpacked.MARK + "x")
    assert len(set(drafts)) == 2, "each has a draft of its own"
    assert holds(folder, sent) and {one.name for one in sent.parent.iterdir()} == {folder.name, sent.name}


def test_a_folder_that_another_call_put_there_meanwhile_is_never_away(
    sent: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other call runs from it, and imports what it needs when it needs it."""
    folder, data, renamed, kept = sent.with_suffix(""), sent.read_bytes(), os.rename, []

    def another_is_first(path: str) -> None:
        monkeypatch.undo()
        unpacked.put(str(folder), data, unpacked.MARK + "x")
        kept.append(folder.stat().st_ino)

        def told(a: str, b: str) -> None:
            assert str(a) != str(folder), "it is away"
            renamed(a, b)

        monkeypatch.setattr(os, "rename", told)

    during(monkeypatch, another_is_first)
    unpacked.put(str(folder), data, unpacked.MARK + "x", replace=False)
    assert [folder.stat().st_ino] == kept and holds(folder, sent)
    assert not list(sent.parent.glob("*.draft"))


def test_a_folder_that_is_replaced_is_there_until_the_new_one_is_whole(
    folder: Path, sent: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A supervisor or its keeper may be running from it."""
    more(folder)
    boots(folder)
    seen = []
    during(monkeypatch, lambda _: seen.append((folder / "allranks" / "node" / "program.py").exists()))
    found = unpacked.folder_of(str(sent), sent.read_bytes(), private_folder.opened, private_folder.check)
    assert seen == [True] and found == str(folder) and holds(folder, sent)


def test_a_disk_that_takes_nothing_leaves_no_half_of_it(sent: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: str) -> None:
        raise OSError(28, "No space left on device")

    during(monkeypatch, full)
    folder = sent.with_suffix("")
    with pytest.raises(OSError):
        unpacked.put(str(folder), sent.read_bytes(), unpacked.MARK + "x")
    assert [path.name for path in sent.parent.iterdir()] == [sent.name]
