"""Logs as users have them: compressed, rotated, in UTF-16, from a pipe, in trees; what is not read is said."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import shutil
import subprocess
import threading
from pathlib import Path

import pytest

from allranks import cli
from allranks.cli import diagnose_verb, log_files, packed_logs
from allranks.cli.log_files import encoding_of, joined, machines
from allranks.core import file_kinds
from tests.diagnose.forms import FORMS, Story
from tests.harness import ROOT

CRASH = """[rank0]: step 1 loss 3.1
[rank1]: Traceback (most recent call last):
[rank1]:   File "train.py", line 3, in <module>
[rank1]: ModuleNotFoundError: No module named 'tensorboard'
"""


def named(path: object, capsys: pytest.CaptureFixture[str], code: int = 1) -> dict:
    capsys.readouterr()
    assert cli.main(["diagnose", str(path), "--json"]) == code
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("name", "pack"),
    [
        ("x.log.gz", gzip.compress),
        ("x.log.xz", lzma.compress),
        ("x.out.bz2", bz2.compress),
        ("x.log", gzip.compress),
    ],
)
def test_a_compressed_log_is_read_by_its_first_bytes(name, pack, tmp_path, capsys) -> None:
    (tmp_path / name).write_bytes(pack(CRASH.encode()))
    for path in (tmp_path, tmp_path / name):
        found = named(path, capsys)
        assert (found["cause"], found["where"]["rank"], found["not_read"]) == ("missing-python-module", 1, [])


@pytest.mark.skipif(shutil.which("zstd") is None, reason="the program zstd is not here")
def test_a_log_of_zstd(tmp_path: Path, capsys) -> None:
    subprocess.run(["zstd", "-q", "-o", str(tmp_path / "x.log.zst")], input=CRASH.encode(), check=True)
    assert named(tmp_path, capsys)["cause"] == "missing-python-module"


def test_a_log_of_zstd_that_cannot_be_unpacked_is_said(tmp_path: Path, capsys, monkeypatch) -> None:
    monkeypatch.setattr("allranks.cli.packed_logs.shutil.which", lambda name: None)
    monkeypatch.setattr("allranks.cli.packed_logs._module", lambda name: None)
    (tmp_path / "x.log.zst").write_bytes(b"\x28\xb5\x2f\xfd rest")
    (tmp_path / "y.log").write_text(CRASH)
    assert cli.main(["diagnose", str(tmp_path)]) == 1
    assert "zstd is needed" in capsys.readouterr().err


def test_a_damaged_archive_is_read_up_to_its_damage(tmp_path: Path, capsys) -> None:
    packed = gzip.compress((CRASH + os.urandom(60_000).hex()).encode())
    (tmp_path / "x.log.gz").write_bytes(packed[: len(packed) - 9000])
    found = named(tmp_path, capsys)
    assert found["cause"] == "missing-python-module" and "damaged" in found["not_read"][0]


PACKERS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}


@pytest.mark.parametrize("lines", [0, 9000])
@pytest.mark.parametrize("kind", ["gz", "bz2", "xz"])
def test_an_archive_without_its_last_bytes_keeps_its_end(
    kind: str, lines: int, tmp_path: Path, capsys
) -> None:
    """As `python train.py | gzip` leaves it when the job is killed. bzip2 unpacks whole blocks alone."""
    text = "".join(f"step {n} loss {n % 7 + 0.123:.3f}\n" for n in range(lines)) + CRASH
    packed = PACKERS[kind](text.encode())
    (tmp_path / f"x.log.{kind}").write_bytes(packed[:-8])
    found = named(tmp_path, capsys)
    assert found["cause"] == "missing-python-module" and "damaged" in found["not_read"][0]


HEALTHY = "{'loss': 1.5, 'epoch': 0.5}\n" * 20 + "{'train_runtime': 9.9, 'train_loss': 1.2, 'epoch': 3.0}\n"


def _cut_gz(folder: Path) -> None:
    (folder / "rank-1.log.gz").write_bytes(gzip.compress(os.urandom(9000).hex().encode())[:5000])


def _cut_zstd(folder: Path) -> None:
    packed = subprocess.run(
        ["zstd", "-qc"], input=os.urandom(9000).hex().encode(), capture_output=True, check=True
    )
    (folder / "rank-1.log.zst").write_bytes(packed.stdout[:5000])


def _binary(folder: Path) -> None:
    (folder / "rank-1.log").write_bytes(bytes(range(256)) * 40)


def _dangling(folder: Path) -> None:
    (folder / "rank-1.log").symlink_to(folder / "gone")


def _pipe(folder: Path) -> None:
    os.mkfifo(folder / "rank-1.log")


@pytest.mark.parametrize("unread", [_cut_gz, _cut_zstd, _binary, _dangling, _pipe])
def test_nothing_is_called_right_beside_a_log_that_was_not_read(unread, tmp_path: Path, capsys) -> None:
    (tmp_path / "rank-0.log").write_text(HEALTHY)
    assert cli.main(["diagnose", str(tmp_path)]) == 0
    assert "nothing is wrong" in capsys.readouterr().out
    unread(tmp_path)
    assert cli.main(["diagnose", str(tmp_path)]) == 3
    said = capsys.readouterr()
    assert "not all of these logs could be read" in said.out and "rank-1.log" in said.err
    found = named(tmp_path, capsys, 3)
    assert found["confidence"] == "likely" and len(found["not_read"]) == 1


def test_a_link_to_another_folder_is_named_and_one_within_is_not(tmp_path: Path, capsys) -> None:
    for folder in ("logs/n0", "elsewhere"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "rank-0.log").write_text(HEALTHY)
    (tmp_path / "logs" / "latest").symlink_to("n0")
    assert named(tmp_path / "logs", capsys, 0)["not_read"] == []
    (tmp_path / "logs" / "n1").symlink_to(tmp_path / "elsewhere")
    assert "n1" in named(tmp_path / "logs", capsys, 0)["not_read"][0]


class Decompressor:
    """As the package `zstandard` unpacks one frame."""

    def __init__(self) -> None:
        self.eof, self.unused_data = False, b""

    def decompress(self, data: bytes) -> bytes:
        if data.startswith(b"!"):
            raise LookupError("not zstd")
        plain, end, self.unused_data = data.partition(b"|")
        self.eof = bool(end)
        return plain


@pytest.mark.parametrize(
    ("packed", "plain", "broken"),
    [(b"a|b|", b"ab", False), (b"a|b", b"ab", True), (b"a|!", b"a", True), (b"", b"", False)],
)
def test_frames_of_zstd(packed: bytes, plain: bytes, broken: bool) -> None:
    notes: list[str] = []
    joined = log_files._Joined(packed_logs._Frames(io.BytesIO(packed), Decompressor, LookupError), "x", notes)
    assert joined.some(10) == plain and bool(notes) == broken


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8"])
def test_a_log_of_powershell(encoding: str, tmp_path: Path, capsys) -> None:
    (tmp_path / "x.log").write_text(CRASH, encoding=encoding)
    found = named(tmp_path, capsys)
    assert (found["cause"], found["where"]["rank"]) == ("missing-python-module", 1)


def test_bars_that_go_back_with_backspaces_are_text(tmp_path: Path, capsys) -> None:
    bars = "".join(f"{n}/10 [=====>...] - ETA: 0s - loss: 0.62" + "\b" * 90 + "\r" for n in range(40))
    (tmp_path / "x.log").write_text(bars + "\n" + CRASH)
    assert named(tmp_path, capsys)["cause"] == "missing-python-module"


def test_what_is_no_text_is_not_read_and_said(tmp_path: Path, capsys) -> None:
    (tmp_path / "core.log").write_bytes(bytes(range(256)) * 40)
    (tmp_path / "run.log").write_text(CRASH)
    (tmp_path / "model.safetensors").write_bytes(b"\0" * 99)
    (tmp_path / "tokenizer.json").write_text("{}")
    assert cli.main(["diagnose", str(tmp_path)]) == 1
    said = capsys.readouterr().err
    assert "core.log: it is not text" in said and "model.safetensors" in said and "tokenizer.json" in said


def test_allranks_own_patterns_are_no_logs(tmp_path: Path, capsys) -> None:
    """A node's copy of allranks lies under the user's home, where logs may lie too."""
    (tmp_path / "train.log").write_text("step 1 loss 2.0\nstep 2 loss 1.5\n")
    before = named(tmp_path, capsys, code=3)
    shutil.copytree(ROOT / "src" / "allranks" / "diagnose", tmp_path / "bundles" / "allranks" / "diagnose")
    assert named(tmp_path, capsys, code=3) == before


def test_rotated_parts_are_one_log_the_oldest_first(tmp_path: Path, capsys) -> None:
    """An error in the oldest part, which the later ones survived."""
    (tmp_path / "run.log.2.gz").write_bytes(gzip.compress(CRASH.encode()))
    (tmp_path / "run.log.1").write_text("".join(f"step {n} loss 2.0\n" for n in range(20)))
    (tmp_path / "run.log").write_text("{'train_runtime': 12.5, 'train_loss': 2.1, 'epoch': 1.0}\n")
    assert named(tmp_path, capsys, code=0)["cause"] == "benign-noise"


@pytest.mark.parametrize(("last", "file", "line"), [(False, "run.log.1", 3), (True, "run.log", 2)])
def test_the_line_in_a_rotated_part_is_the_parts_own(last, file, line, tmp_path: Path, capsys) -> None:
    steps = "step 1 loss 2.0\nstep 2 loss 2.0\nstep 3 loss 2.0\n"
    error = "Traceback (most recent call last):\nValueError: bad row\n"
    (tmp_path / "run.log.1").write_text(steps if last else steps[:16] + error)
    (tmp_path / "run.log").write_text(error if last else "it stops here\n")
    where = named(tmp_path, capsys)["where"]
    assert (where["file"], where["line"]) == (str(tmp_path / file), line)


def test_a_log_that_is_removed_while_others_are_read_is_said(tmp_path: Path, capsys, monkeypatch) -> None:
    (tmp_path / "a.log").write_text(CRASH)
    (tmp_path / "b.log").write_text(CRASH)
    scanned = diagnose_verb.scanned

    def removed(*args):
        (tmp_path / "b.log").unlink()
        return scanned(*args)

    monkeypatch.setattr(diagnose_verb, "scanned", removed)
    found = named(tmp_path, capsys)
    assert found["cause"] == "missing-python-module"
    assert found["not_read"] == [f"not read: {tmp_path / 'b.log'}: No such file or directory"]


def test_a_folder_that_may_be_listed_but_not_entered_is_said(tmp_path: Path, capsys, monkeypatch) -> None:
    """Root may enter everything: what another user meets is put in the place of `lstat` and `mode_of`."""
    (tmp_path / "a.log").write_text(CRASH)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "b.log").write_text(CRASH)
    lstat, mode_of = os.lstat, log_files.mode_of

    def shut(name, **more):
        if str(name).endswith("sub/b.log"):
            raise PermissionError(13, "Permission denied", str(name))
        return lstat(name, **more)

    monkeypatch.setattr(os, "lstat", shut)
    monkeypatch.setattr(
        file_kinds, "mode_of", lambda name: 0 if name.endswith("sub/b.log") else mode_of(name)
    )
    found = named(tmp_path, capsys)
    assert found["cause"] == "missing-python-module"
    assert found["not_read"] == [f"not read: {tmp_path / 'sub/b.log'}: Permission denied"]


@pytest.mark.parametrize("name", ["a" * 5000, "a/" * 3000, "a\0b"])
def test_a_text_in_the_place_of_a_name_is_bad_input(name: str, home: Path, capsys) -> None:
    assert cli.main(["diagnose", name]) == 2
    assert len(capsys.readouterr().err) < 600


@pytest.mark.parametrize("zeros", [7, 4096, 50_000])
def test_a_log_that_was_emptied_while_it_was_written_is_read(zeros: int, tmp_path: Path, capsys) -> None:
    """Its writer goes on at its old place, and the system fills the hole with zeros."""
    (tmp_path / "run.log").write_bytes(bytes(zeros) + CRASH.encode())
    assert named(tmp_path, capsys)["cause"] == "missing-python-module"


def test_the_order_of_parts() -> None:
    (log,) = joined(["a/x.log", "a/x.log.1", "a/x.log.10.gz", "a/x.log.2"])
    assert log.files == ("a/x.log.10.gz", "a/x.log.2", "a/x.log.1", "a/x.log")
    (log,) = joined(["x.log-20260106", "x.log", "x.log-20260105.gz"])
    assert log.files == ("x.log-20260105.gz", "x.log-20260106", "x.log")
    assert len(joined(["job.o4242", "job.o4243", "slurm-1.out", "slurm-2.out"])) == 4


def test_logs_that_are_named_by_their_ranks_alone(tmp_path: Path, capsys) -> None:
    (tmp_path / "rank.0").write_text("step 1 loss 2.0\n")
    (tmp_path / "rank.1").write_text(CRASH)
    (tmp_path / "notes").write_text("nothing\n")
    found = named(tmp_path, capsys)
    assert (found["cause"], found["where"]["rank"]) == ("missing-python-module", 1)
    assert len(joined(["node1.0", "node1.1", "rank.0", "rank.1"])) == 4


def test_a_pipe_is_read_once(tmp_path: Path, capsys) -> None:
    """As a process substitution makes it."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=(CRASH,))
    writer.start()
    try:
        assert named(pipe, capsys)["cause"] == "missing-python-module"
    finally:
        writer.join(30)


@pytest.mark.parametrize(
    "name", ["docker's file", "CRI", "torchrun --log-dir", "srun -o %j_%t.out", "Azure ML"]
)
def test_a_tree_of_a_tool(name: str, tmp_path: Path, capsys) -> None:
    for text, file in FORMS[name](Story()):
        place = tmp_path / file.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    found = named(tmp_path, capsys)
    assert (found["cause"], found["where"]["rank"]) == ("rank-crashed-first", 6)


def test_a_folder_a_machine_names_the_machine(tmp_path: Path, capsys) -> None:
    lost = "Traceback (most recent call last):\nRuntimeError: [gloo/pair.cc:561] Connection closed by peer\n"
    for host, texts in {
        "alpha": (lost, lost),
        "beta": (lost, CRASH.split("\n", 1)[1].replace("[rank1]: ", "")),
    }.items():
        (tmp_path / host).mkdir()
        for n, text in enumerate(texts):
            (tmp_path / host / f"process{n}.log").write_text(text)
    assert named(tmp_path, capsys)["where"]["node"] == "beta"


def test_folders_that_are_no_machines() -> None:
    assert machines(["a/rank-0.log", "b/rank-1.log"]) == {"a/rank-0.log": "a", "b/rank-1.log": "b"}
    assert machines(["logs/rank_0/x.log", "logs/rank_1/x.log"]) == {}
    assert machines(["a/0/x.log", "a/1/x.log"]) == {} == machines(["a/x.log"])
    assert machines(["a/c/x.log", "b/d/x.log"]) == {}


def test_encodings() -> None:
    assert encoding_of(b"") == "utf-8" and encoding_of(b"step 1\x1b[0m\r\n") == "utf-8"
    assert encoding_of(b"\x7fELF" + bytes(range(1, 32)) * 9) is None


def test_what_is_printed(tmp_path: Path, capsys) -> None:
    text = FORMS["pdsh"](
        Story(error="torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 2 has")
    )
    (tmp_path / "run.log").write_text(text[0][0])
    assert cli.main(["diagnose", str(tmp_path / "run.log")]) == 1
    said = capsys.readouterr().out
    assert said.startswith("A GPU has no memory left (certain)\n")
    assert "node h100-node-1, rank 6, GPU 2" in said and "ranks 0-5, 7 (failed as a consequence)" in said
    assert "allranks explain cuda-oom" in said


def test_a_long_line_is_shown_around_what_was_found(tmp_path: Path, capsys) -> None:
    (tmp_path / "run.log").write_text(
        "x" * 900 + " RuntimeError: No CUDA GPUs are available " + "y" * 900 + "\n"
    )
    found = named(tmp_path, capsys)
    assert "No CUDA GPUs" in found["evidence"][0] and len(found["evidence"][0]) <= 400


def test_the_frame_of_a_users_own_exception_is_shown(tmp_path: Path, capsys) -> None:
    (tmp_path / "run.log").write_text(
        'Traceback (most recent call last):\n  File "/srv/run.py", line 9, in main\n    f()\n'
        '  File "/srv/mine.py", line 3, in f\n    return x["labels"]\nKeyError: \'labels\'\n'
    )
    found = named(tmp_path, capsys)
    assert found["cause"] == "rank-crashed-first"
    assert found["evidence"][1] == 'raised in File "/srv/mine.py", line 3, in f'


def test_the_users_own_line_comes_before_the_librarys(tmp_path: Path, capsys) -> None:
    (tmp_path / "run.log").write_text(
        'Traceback (most recent call last):\n  File "/srv/run.py", line 9, in main\n    f()\n'
        '  File "/env/lib/python3.11/site-packages/torch/nn/modules/linear.py", line 134, in forward\n'
        "    return F.linear(input)\nRuntimeError: mat1 and mat2 shapes cannot be multiplied (8x31 and 32x64)\n"
    )
    own, library = named(tmp_path, capsys)["evidence"][1:3]
    assert own == 'in your code: File "/srv/run.py", line 9, in main' and "linear.py" in library


def test_what_is_empty(tmp_path: Path) -> None:
    (tmp_path / "a.log").touch()
    (tmp_path / "b.log").write_text("x")
    found = [log_files.is_empty(str(tmp_path / name)) for name in ("a.log", "b.log", "gone.log")]
    assert found == [True, False, False] and not log_files.is_empty(str(tmp_path))


def test_files_that_mpirun_wrote_are_read_whatever_their_folders_are_called(tmp_path: Path, capsys) -> None:
    (tmp_path / "1_rank.0_stdout").write_text("step 1 loss 2.5\n")
    (tmp_path / "1_rank.1_stderr").write_text(
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB\n"
    )
    found = named(tmp_path, capsys, 1)
    assert (found["cause"], found["where"]["rank"]) == ("cuda-oom", 1)
