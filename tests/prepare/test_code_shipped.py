"""The user's code: what travels, what the node stores, and archives that would write elsewhere."""

from __future__ import annotations

import asyncio
import io
import os
import sys
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from allranks.core import BadInput
from allranks.node import upload
from allranks.prepare import code
from allranks.prepare.failures import NotReady
from allranks.spec import Run, loads
from allranks.transport import NodeProgram
from allranks.transport.local import LocalTransport

RUN = loads("nodes: localhost\ntrain: {command: [train.py]}\n")


def run_with(folder: Path) -> Run:
    return replace(RUN, code=str(folder))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "mine"
    (place / "src" / "pkg").mkdir(parents=True)
    (place / "train.py").write_text("print(1)\n")
    (place / "src" / "pkg" / "ü n.py").write_text("x = 1\n")
    (place / "run.sh").write_text("#!/bin/sh\n")
    (place / "run.sh").chmod(0o755)
    (place / "link.py").symlink_to("train.py")
    for name in (".git/config", "__pycache__/a.pyc", "src/pkg/b.pyc", ".venv/bin/python"):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text("no")
    return place


def test_what_is_made_anew_stays_here(folder: Path) -> None:
    assert code.chosen(folder, run_with(folder)) == ["link.py", "run.sh", "src/pkg/ü n.py", "train.py"]


def test_the_node_has_what_left_here_and_is_sent_it_once(folder: Path, home: Path) -> None:
    packed = code.pack(run_with(folder))
    sent: list[int] = []

    class Counting(LocalTransport):
        async def run(self, argv, *, stdin=b"", timeout_seconds=60.0):
            sent.append(len(stdin))
            return await super().run(argv, stdin=stdin, timeout_seconds=timeout_seconds)

    program = NodeProgram(Counting("here"), sys.executable)
    place = Path(asyncio.run(code.send(program, packed)))
    assert (place / "link.py").read_text() == "print(1)\n"
    assert os.access(place / "run.sh", os.X_OK) and not os.access(place / "train.py", os.X_OK)
    assert place.is_relative_to(home)
    before = len(sent)
    assert asyncio.run(code.send(NodeProgram(Counting("here"), sys.executable), packed)) == str(place)
    assert sent[before:] == [0]


def here() -> NodeProgram:
    return NodeProgram(LocalTransport("here"), sys.executable)


def test_what_a_run_wrote_beside_its_code_is_kept_and_the_code_not_sent_again(
    folder: Path, home: Path
) -> None:
    packed = code.pack(run_with(folder))
    place = Path(asyncio.run(code.send(here(), packed)))
    (place / "__pycache__").mkdir()
    (place / "__pycache__" / "train.pyc").write_bytes(b"x")
    (place / "outputs").mkdir()
    (place / "outputs" / "adapter").write_text("precious")
    assert upload.code(packed.digest, b"") == {"path": str(place), "digest": packed.digest}
    assert asyncio.run(code.send(here(), packed)) == str(place)
    assert (place / "outputs" / "adapter").read_text() == "precious"


@pytest.mark.parametrize("change", ["edited", "removed"])
def test_changed_code_is_stored_anew_beside_the_folder_that_a_run_may_be_in(
    folder: Path, home: Path, change: str
) -> None:
    packed = code.pack(run_with(folder))
    place = Path(asyncio.run(code.send(here(), packed)))
    before = place.stat().st_ino
    (place / "train.py").write_text("print(2)\n") if change == "edited" else (place / "train.py").unlink()
    anew = Path(asyncio.run(code.send(here(), packed)))
    assert anew != place and (anew / "train.py").read_text() == "print(1)\n"
    assert place.stat().st_ino == before and (place / "run.sh").exists()
    assert asyncio.run(code.send(here(), packed)) == str(anew)


def test_a_node_that_stores_something_else_is_named(folder: Path) -> None:
    class Liar:
        node = "node-7"

        async def call(self, *words, **more):
            return {"path": "/x", "digest": "ff" * 32}

    with pytest.raises(NotReady) as caught:
        asyncio.run(code.send(Liar(), code.pack(run_with(folder))))  # type: ignore[arg-type]  # a stand-in
    assert caught.value.findings[0].where.node == "node-7"


@pytest.mark.parametrize("change", ["content", "name", "mode", "link"])
def test_every_change_is_another_digest(folder: Path, change: str) -> None:
    before = code.pack(run_with(folder)).digest
    if change == "content":
        (folder / "train.py").write_text("print(2)\n")
    elif change == "name":
        (folder / "train.py").rename(folder / "trains.py")
    elif change == "mode":
        (folder / "train.py").chmod(0o755)
    else:
        (folder / "link.py").unlink()
        (folder / "link.py").symlink_to("run.sh")
    assert code.pack(run_with(folder)).digest != before


def test_a_link_that_leaves_the_folder_is_refused(folder: Path) -> None:
    (folder / "data").symlink_to("/nfs/data")
    with pytest.raises(BadInput, match="data is a link to /nfs/data"):
        code.pack(run_with(folder))


def test_an_absolute_link_is_refused_also_within_the_folder(folder: Path) -> None:
    """On a node it would name a path of this machine."""
    (folder / "data").symlink_to(folder / "src")
    with pytest.raises(BadInput, match="data is a link to"):
        code.pack(run_with(folder))


def test_a_file_that_vanishes_while_it_is_packed_is_named(folder: Path, monkeypatch) -> None:
    (folder / "gone.py").write_text("x = 1\n")
    chosen = code.chosen(folder, run_with(folder))
    (folder / "gone.py").unlink()
    monkeypatch.setattr(code, "chosen", lambda *_: chosen)
    with pytest.raises(BadInput, match=r"gone\.py: No such file"):
        code.pack(run_with(folder))


def test_what_is_sent_has_its_digest_although_a_file_grows_meanwhile(
    folder: Path, home: Path, monkeypatch
) -> None:
    content_of = upload.content_of

    def growing(path: str, found: os.stat_result) -> tuple[str, bytes]:
        told = content_of(path, found)
        if path.endswith("train.py"):
            with Path(path).open("a") as file:
                file.write("# more\n")
        return told

    with monkeypatch.context() as patched:
        patched.setattr(upload, "content_of", growing)
        packed = code.pack(run_with(folder))
    place = Path(asyncio.run(code.send(here(), packed)))
    assert (place / "train.py").read_text() == "print(1)\n" != (folder / "train.py").read_text()


def test_a_home_behind_a_link_takes_the_code(folder: Path, tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "home").symlink_to("real")
    monkeypatch.setenv("ALLRANKS_HOME", str(tmp_path / "home"))
    packed = code.pack(run_with(folder))
    assert upload.code(packed.digest, packed.archive)["digest"] == packed.digest


def test_a_folder_with_checkpoints_in_it_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code, "MOST_BYTES", 10)
    with pytest.raises(BadInput, match="are not code"):
        code.pack(run_with(folder))


def archive(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        entry = tarfile.TarInfo(name)
        entry.type, entry.linkname = kind, target
        tar.addfile(entry, io.BytesIO(b""))
    return buffer.getvalue()


@pytest.mark.parametrize(
    "hostile",
    [
        archive("../outside"),
        archive("/etc/outside"),
        archive("a/../../outside"),
        archive("device", tarfile.CHRTYPE),
        archive("pipe", tarfile.FIFOTYPE),
        archive("hard", tarfile.LNKTYPE, "/etc/passwd"),
    ],
)
def test_a_hostile_archive_writes_nothing_outside(hostile: bytes, home: Path) -> None:
    with pytest.raises(BadInput):
        upload.code("ab" * 32, hostile)
    assert not (home / "outside").exists() and not (home / "code" / "outside").exists()


def test_an_archive_cannot_write_through_its_own_link(home: Path, tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        link = tarfile.TarInfo("way")
        link.type, link.linkname = tarfile.SYMTYPE, str(tmp_path)
        tar.addfile(link)
        tar.addfile(tarfile.TarInfo("way/outside"), io.BytesIO(b""))
    with pytest.raises(BadInput, match="through a link"):
        upload.code("ab" * 32, buffer.getvalue())
    assert not (tmp_path / "outside").exists()
