"""A node's cache of a rank's bytes: what is used again, and what never is. Without torch."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path
from typing import Any

import pytest

from allranks.core import cache_folder
from allranks.worker import base_cache, read_turns
from allranks.worker.base_cache import Cache, Damaged

VALUES = os.urandom(3 << 20)


def layout(**other: Any) -> dict[str, Any]:
    return {
        "files": [("/m/1.safetensors", 7, 1), ("/m/2.safetensors", 9, 1)],
        "plan": "p",
        "rank": 0,
        **other,
    }


@pytest.fixture
def cache(tmp_path: Path):
    made = base_cache.opened({cache_folder.PATH: str(tmp_path / "new" / "cache")})
    assert made is not None
    yield made
    made.close()


def write(cache: Cache, of: dict[str, Any], values: bytes = VALUES) -> str:
    """Why it was not written."""
    draft = cache.draft(of, len(values))
    if draft is None:
        return cache.notes[-1]
    for first in range(0, len(values), 1 << 20):
        draft.write(memoryview(values)[first : first + (1 << 20)])
    draft.finish(of)
    return draft.failed


def read(cache: Cache, of: dict[str, Any], count: int = len(VALUES)) -> bytes | None:
    part = cache.part(of)
    if part is None:
        return None
    target = bytearray(count)
    try:
        for first in range(0, count, 1 << 19):
            part.read("", 0, memoryview(target)[first : first + (1 << 19)])
        part.check()
        return bytes(target)
    finally:
        part.close()


def files(cache: Cache) -> list[str]:
    return sorted(set(os.listdir(cache.folder.path)) - {cache_folder.LOCK})


def test_the_same_layout_gets_its_bytes_back(cache: Cache) -> None:
    assert read(cache, layout()) is None and cache.notes == []
    assert write(cache, layout()) == ""
    assert read(cache, layout()) == VALUES and cache.notes == []
    (name,) = files(cache)
    folder, part = os.stat(cache.folder.path), os.stat(os.path.join(cache.folder.path, name))
    assert (folder.st_mode & 0o777, part.st_mode & 0o777) == (0o700, 0o600)
    assert os.stat(os.path.dirname(cache.folder.path)).st_mode & 0o777 == 0o700


@pytest.mark.parametrize("other", [{"rank": 1}, {"plan": "q"}, {"world_size": 9}])
def test_another_layout_gets_nothing(cache: Cache, other: dict) -> None:
    write(cache, layout())
    assert read(cache, layout(**other)) is None and cache.notes == []
    assert write(cache, layout(**other)) == "" and len(files(cache)) == 2


def test_another_model_under_the_same_path_is_said_and_takes_its_place(cache: Cache) -> None:
    write(cache, layout())
    newer = layout(files=[("/m/1.safetensors", 7, 1), ("/m/2.safetensors", 9, 2)])
    assert read(cache, newer) is None
    assert cache.notes == ["the cache holds an older state of these files, which was not used"]
    assert write(cache, newer) == "" and len(files(cache)) == 1 and read(cache, newer) == VALUES


@pytest.mark.parametrize(
    "damage", ["cut", "cut to nothing", "a bit", "another's", "no description", "longer"]
)
def test_a_damaged_part_is_not_used_and_goes(cache: Cache, damage: str) -> None:
    write(cache, layout())
    (name,) = files(cache)
    path = Path(cache.folder.path) / name
    data = path.read_bytes()
    if damage == "another's":
        write(cache, layout(plan="q"))
        os.replace(path.parent / base_cache.name_of(layout(plan="q")), path)
    else:
        path.write_bytes(
            {
                "cut": data[:-9], "cut to nothing": b"", "a bit": bytes([data[0] ^ 1]) + data[1:],
                "no description": b"x" * len(VALUES), "longer": b"x" + data,
            }[damage]
        )  # fmt: skip
    if damage == "a bit":  # only all of it shows that
        with pytest.raises(Damaged, match="digest"):
            read(cache, layout())
        cache.refuse(layout(), "its digest is wrong")
    assert read(cache, layout()) is None
    assert cache.notes[0].startswith("the cached part is damaged (it") and files(cache) == []


def test_fewer_bytes_than_the_plan_wants(cache: Cache) -> None:
    write(cache, layout())
    with pytest.raises(Damaged):
        read(cache, layout(), len(VALUES) - 5)
    with pytest.raises(Damaged, match="cut short"):
        read(cache, layout(), len(VALUES) + (1 << 20))


def test_two_runs_that_write_at_once(cache: Cache) -> None:
    first = cache.draft(layout(), len(VALUES))
    assert first is not None
    assert write(cache, layout()) == "not written: another run writes it now"
    first.write(memoryview(VALUES))
    first.finish(layout())
    assert read(cache, layout()) == VALUES


def test_a_draft_that_a_killed_process_left_goes(cache: Cache) -> None:
    left = cache.draft(layout(), 5)
    assert left is not None
    os.close(left.descriptor)  # as the kernel does
    assert write(cache, layout()) == "" and len(files(cache)) == 1
    left.descriptor = -1


def test_the_disk_is_full(cache: Cache, monkeypatch) -> None:
    real, wrote = os.pwrite, []

    def pwrite(descriptor: int, data: bytes, place: int) -> int:
        if wrote:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        wrote.append(place)
        return real(descriptor, data, place)

    with monkeypatch.context() as patched:
        patched.setattr(os, "pwrite", pwrite)
        assert write(cache, layout()) == "No space left on device" and files(cache) == []
    free = os.fstatvfs(cache.folder.descriptor)
    monkeypatch.setattr(base_cache, "SPARE_BYTES", free.f_bavail * free.f_frsize)
    assert "of its disk are free" in write(cache, layout()) and files(cache) == []


def test_it_never_exceeds_its_limit(cache: Cache, monkeypatch) -> None:
    cache.limit = 2 * len(VALUES)
    assert "is more than cache_limit" in write(cache, layout(), VALUES * 2)
    assert write(cache, layout()) == ""
    assert "exceed cache_limit" in write(cache, layout(rank=1))  # rank 0's was made in this start: it stays
    assert len(files(cache)) == 1
    monkeypatch.setattr(base_cache, "STARTED", base_cache.STARTED + 3600)
    assert write(cache, layout(rank=1)) == ""  # in a later start the oldest goes
    assert read(cache, layout()) is None and read(cache, layout(rank=1)) == VALUES
    assert sum(os.stat(os.path.join(cache.folder.path, name)).st_size for name in files(cache)) <= cache.limit


def test_drafts_count_for_the_limit(cache: Cache) -> None:
    cache.limit = 2 * len(VALUES)
    draft = cache.draft(layout(), len(VALUES))
    assert draft is not None and "exceed cache_limit" in write(cache, layout(rank=1))
    draft.drop()
    assert files(cache) == []


def folder_of(tmp_path: Path, case: str) -> Path:
    """A folder that must not be used."""
    path, inner = tmp_path / "cache", tmp_path / "cache" / cache_folder.own_name()
    if case == "a link":
        (tmp_path / "other").mkdir()
        path.symlink_to(tmp_path / "other")
    elif case == "a file":
        path.write_text("x")
    elif case == "open to others":
        path.mkdir()
        path.chmod(0o777)
    elif case == "a link in it":
        (tmp_path / "other").mkdir()
        path.mkdir(mode=0o700)
        inner.symlink_to(tmp_path / "other")
    elif case == "open in it":
        path.mkdir(mode=0o700)
        inner.mkdir()
        inner.chmod(0o755)
    elif case == "open above":
        path = tmp_path / "above" / "cache"
        path.mkdir(parents=True)
        path.parent.chmod(0o777)
    return path


@pytest.mark.parametrize(
    ("case", "said"),
    [
        ("a link", "is a link, or not a folder"),
        ("a file", "is a link, or not a folder"),
        ("open to others", "is open to other users (mode 0777); fix: chmod go-w "),
        ("open above", "is open to other users (mode 0777); fix: chmod go-w "),
        ("a link in it", "is a link, or not a folder"),
        ("open in it", "is open to other users (mode 0755); fix: chmod go-rwx "),
    ],
)
def test_a_folder_that_is_not_safe(tmp_path: Path, case: str, said: str) -> None:
    path = folder_of(tmp_path, case)
    with pytest.raises(cache_folder.Unsafe) as found:
        base_cache.opened({cache_folder.PATH: str(path)})
    assert said in str(found.value)
    assert not (tmp_path / "other").exists() or not list((tmp_path / "other").iterdir())
    with pytest.raises(cache_folder.Unsafe):
        cache_folder.removed(str(path))


@pytest.mark.parametrize("which", ["the named one", "the one in it"])
def test_a_folder_of_somebody_else(tmp_path: Path, monkeypatch, which: str) -> None:
    path = tmp_path / "cache"
    made = cache_folder.opened(str(path))
    assert made is not None
    made.close()
    me, real = os.geteuid(), os.fstat

    def fstat(descriptor: int) -> os.stat_result:
        status = real(descriptor)
        inner = os.path.samestat(status, os.stat(made.path))
        return (
            os.stat_result([*status[:4], me + 7, *status[5:]])
            if inner == (which != "the named one")
            else status
        )

    monkeypatch.setattr(os, "fstat", fstat)
    with pytest.raises(cache_folder.Unsafe, match=f"belongs to user {me + 7}, not to user {me}"):
        cache_folder.opened(str(path))


def test_a_part_that_is_a_link_is_not_read(cache: Cache, tmp_path: Path) -> None:
    write(cache, layout())
    (name,) = files(cache)
    path = Path(cache.folder.path) / name
    os.replace(path, tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    assert read(cache, layout()) is None and len(cache.notes) == 1


def test_clean_removes_parts_alone(cache: Cache) -> None:
    write(cache, layout())
    write(cache, layout(rank=1))
    above = os.path.dirname(cache.folder.path)
    (Path(cache.folder.path) / "notes.txt").write_text("mine")
    part = cache.part(layout())
    assert part is not None
    told = cache_folder.removed(above, dry_run=True)
    assert told["bytes"] > len(VALUES) and len(files(cache)) == 3
    assert cache_folder.removed(above) == {**told, "kept": [base_cache.name_of(layout()), "notes.txt"]}
    part.close()
    assert cache_folder.removed(above)["kept"] == ["notes.txt"] and files(cache) == ["notes.txt"]
    os.unlink(os.path.join(cache.folder.path, "notes.txt"))
    cache_folder.removed(above)
    assert cache_folder.removed(above) is None and os.path.isdir(above)


# -- turns --


def test_ranks_take_turns(tmp_path: Path) -> None:
    one, other = (read_turns.Turns(str(tmp_path), 1, local) for local in (0, 1))
    one.take(1 << 20)
    (slot,) = tmp_path.iterdir()
    with slot.open() as probe:
        with pytest.raises(BlockingIOError):
            fcntl.flock(probe, fcntl.LOCK_EX | fcntl.LOCK_NB)
        one.take(1 << 20)  # the same turn
        one.give_back()
        other.take(read_turns.TURN_BYTES)
        with pytest.raises(BlockingIOError):
            fcntl.flock(probe, fcntl.LOCK_EX | fcntl.LOCK_NB)
        other.close()
        fcntl.flock(probe, fcntl.LOCK_EX | fcntl.LOCK_NB)
    one.close()


@pytest.mark.parametrize(
    ("nodes", "ranks", "kind", "told", "readers"),
    [
        (3, 8, "nfs4", None, 0),  # 24 of 32
        (4, 8, "nfs", None, 0),
        (8, 8, "nfs4", None, 4),
        (100, 8, "nfs4", None, 1),
        (100, 8, "lustre", None, 0),
        (2, 8, "ext4", "3", 3),
        (100, 8, "nfs4", "8", 0),
    ],
)
def test_how_many_read_at_once(
    tmp_path: Path, nodes: int, ranks: int, kind: str, told: str | None, readers: int
) -> None:
    env = {"GROUP_WORLD_SIZE": str(nodes), "LOCAL_WORLD_SIZE": str(ranks), "TMPDIR": str(tmp_path)}
    if told:
        env[read_turns.VARIABLE] = told
    assert read_turns.turns(env, "/", 0, kind).readers == readers


def test_turns_without_a_folder_or_locks_stop_nobody(tmp_path: Path) -> None:
    assert read_turns.Turns(None, 2).readers == 0
    gone = read_turns.Turns(str(tmp_path / "gone"), 2)
    gone.take(5)
    assert gone.readers == 0


def test_the_type_of_a_file_system(tmp_path: Path) -> None:
    device = os.stat(tmp_path).st_dev
    table = tmp_path / "mountinfo"
    table.write_text(
        "22 1 0:999 / / rw - ext4 /dev/a rw\n"
        f"36 35 {os.major(device)}:{os.minor(device)} / /mnt rw,noatime master:1 - nfs4 server:/ rw\n"
    )
    assert read_turns.type_of(str(tmp_path), str(table)) == "nfs4"
    assert (
        read_turns.type_of(str(tmp_path / "no"), str(table)) == read_turns.type_of(str(tmp_path), "/no") == ""
    )
