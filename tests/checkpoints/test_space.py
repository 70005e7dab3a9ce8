"""Whether the next save fits on disks of every size, and under which names removals set folders aside."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from allranks.checkpoints import removal
from allranks.checkpoints.space import bytes_of, space

MIB = 1 << 20


def said(
    monkeypatch: pytest.MonkeyPatch,
    path: str,
    free: int,
    inodes: int = 9,
    files: int = 10,
    planned: int = 100,
) -> str:
    asked: list[str] = []

    def statvfs(where: str) -> SimpleNamespace:
        asked.append(where)
        return SimpleNamespace(f_bavail=free // 512, f_frsize=512, f_files=files, f_favail=inodes)

    monkeypatch.setattr(os, "statvfs", statvfs)
    found = space(path, planned * MIB)
    assert len(asked) == 1 and os.path.isdir(asked[0])
    return f"{found.id}: {found.saw} | {found.expected}"


def test_a_tenth_more_than_planned_must_be_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place, wanted = str(tmp_path / "not" / "yet"), "100.0 MiB for the next save"
    assert said(monkeypatch, place, 110 * MIB + 512) == f"save-space: 110.0 MiB free | {wanted}"
    assert said(monkeypatch, place, 110 * MIB - 512) == f"save-space-low: 110.0 MiB free | {wanted}"
    assert said(monkeypatch, place, 2048 * MIB, 0) == f"save-space-low: no inode is free | {wanted}"
    assert said(monkeypatch, place, 2048 * MIB, 1) == f"save-space: 2,048.0 MiB free | {wanted}"
    assert said(monkeypatch, place, 0, planned=0) == "save-space: 0.0 MiB free | 0.0 MiB for the next save"
    # Btrfs has no fixed number of inodes, and says 0 of 0.
    assert said(monkeypatch, place, 2048 * MIB, 0, 0) == f"save-space: 2,048.0 MiB free | {wanted}"


def test_a_disk_that_does_not_answer_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def statvfs(where: str) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "statvfs", statvfs)
    found = space(str(tmp_path), 1)
    assert (found.id, found.saw) == ("save-space-unknown", "statvfs: Input/output error")


def test_the_next_save_is_as_large_as_this_one(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "a").write_bytes(b"x" * 10)
    (tmp_path / "below" / "b").write_bytes(b"x" * 7)
    assert bytes_of(str(tmp_path)) == 17 and bytes_of(str(tmp_path / "nowhere")) == 0


def test_a_folder_is_set_aside_under_the_first_free_name(tmp_path: Path) -> None:
    parent = os.open(tmp_path, os.O_RDONLY)
    try:
        names = []
        for _ in range(3):
            (tmp_path / "x").mkdir()
            names.append(removal._set_aside(parent, "x"))
        assert names == [removal.REMOVING + "x", removal.REMOVING + "x-1", removal.REMOVING + "x-2"]
        assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names)
    finally:
        os.close(parent)


def test_a_thousand_removals_that_broke_off_are_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[str] = []
    monkeypatch.setattr(removal, "_exists", lambda parent, name: tried.append(name) or True)
    with pytest.raises(removal.NotOurs, match="a thousand removals"):
        removal._set_aside(0, "x")
    assert len(tried) == len(set(tried)) == 1000
