"""Lines are appended whole, after a torn one on a line of their own, and never through a link."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from allranks.core import line_file
from allranks.core.line_file import LineFile


def test_lines_are_appended_to_a_file_of_mode_0600(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    for line in (b"one\n", b"two\nthree\n"):
        file = LineFile(str(path))
        file.append(line)
        file.close()
        file.close()
    assert path.read_bytes() == b"one\ntwo\nthree\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_an_unfinished_line_of_an_earlier_writer_is_ended(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes(b"one\ntw")
    file = LineFile(str(path))
    file.append(b"three\n")
    file.append(b"four\n")
    file.close()
    assert path.read_bytes() == b"one\ntw\nthree\nfour\n"


def test_a_line_that_a_full_disk_cuts_is_reported_and_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, room = tmp_path / "lines", [3]

    def write(descriptor: int, data: bytes) -> int:
        return os.pwrite(descriptor, data[: room[0]], 0)

    file = LineFile(str(path))
    monkeypatch.setattr(line_file.os, "write", write)
    with pytest.raises(OSError, match="No space left"):
        file.append(b"one\n")
    monkeypatch.undo()
    file.append(b"two\n")
    file.close()
    assert path.read_bytes() == b"one\ntwo\n"


@pytest.mark.parametrize("follow", [True, False])
def test_a_file_that_lost_its_name_is_made_again_only_if_it_is_followed(tmp_path: Path, follow: bool) -> None:
    path = tmp_path / "lines"
    file = LineFile(str(path), follow)
    file.append(b"one\n")
    path.unlink()
    file.append(b"two\n")
    file.close()
    assert path.exists() is follow
    assert not follow or path.read_bytes() == b"two\n"


def test_a_number_that_a_script_took_for_its_own_file_is_left_alone(tmp_path: Path) -> None:
    file = LineFile(str(tmp_path / "lines"), follow=True)
    file.append(b"one\n")
    number = file._descriptor
    assert number is not None
    other = os.open(tmp_path / "other", os.O_RDWR | os.O_CREAT, 0o600)
    os.dup2(other, number)
    os.close(other)
    file.append(b"two\n")
    file.close()
    os.close(number)
    assert (tmp_path / "lines").read_bytes() == b"one\ntwo\n"
    assert (tmp_path / "other").read_bytes() == b""


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "lines").symlink_to(tmp_path / "victim")
    with pytest.raises(OSError):
        LineFile(str(tmp_path / "lines")).append(b"one\n")
    assert not (tmp_path / "victim").exists()
