"""Checkpoints that lie on another machine: listed, verified, pruned, and fetched whole or not at all."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from allranks import cli
from allranks.checkpoints import verify
from allranks.core import BadInput, Blocked, CouldNotTell, Node
from allranks.node.paths import RunDirectory, write_json
from allranks.runs import checkpoint_fetch, checkpoint_places
from allranks.runs.checkpoint_fetch import FETCHING, fetch
from allranks.runs.checkpoint_places import CheckpointPlace, of_text
from allranks.transport import Nodes
from tests.checkpoints import test_kinds
from tests.checkpoints.conftest import Checkpoint


@pytest.fixture
def folder(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two whole checkpoints and a newer one that is cut off; the caller stands beside them."""
    out = tmp_path / "out"
    for step in (10, 20, 30):
        Checkpoint(out / f"checkpoint-{step}", step=step).write()
    weights = out / "checkpoint-30" / "adapter_model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-50])
    (tmp_path / "laptop").mkdir()
    monkeypatch.chdir(tmp_path / "laptop")
    return out


def told(capsys, *words: str, code: int) -> Any:
    assert cli.main([*words, "--json"]) == code
    return json.loads(capsys.readouterr().out)


# ---- over the node program, as on another machine ----


def test_checkpoints_of_another_machine_are_listed_with_their_state(folder: Path, capsys) -> None:
    answer = told(capsys, "checkpoints", "list", f"localhost:{folder}", code=0)
    assert (answer["node"], answer["folder"]) == ("localhost", str(folder))
    assert [(one["step"], one["whole"], one["files"]) for one in answer["checkpoints"]] == [
        (30, False, 4),
        (20, True, 4),
        (10, True, 4),
    ]
    assert cli.main(["checkpoints", "list", f"localhost:{folder}"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"localhost:{folder}" and "damaged" in lines[2] and "checkpoint-altered" in lines[2]


def test_the_newest_whole_one_is_fetched(folder: Path, capsys) -> None:
    done = told(capsys, "checkpoints", "fetch", f"localhost:{folder}", code=0)
    here = Path("checkpoint-20").absolute()
    assert (done["target"], done["step"], done["files"], done["whole"]) == (str(here), 20, 4, True)
    for path in (folder / "checkpoint-20").iterdir():
        assert (here / path.name).read_bytes() == path.read_bytes()
    assert verify(str(here)).whole and not list(here.parent.glob(FETCHING + "*"))


def test_nothing_is_written_over(folder: Path, capsys) -> None:
    Path("mine").mkdir()
    Path("mine", "a").write_text("mine")
    assert cli.main(["checkpoints", "fetch", f"localhost:{folder}", "mine"]) == 2
    assert "nothing is overwritten" in capsys.readouterr().err
    assert [path.name for path in Path("mine").iterdir()] == ["a"]
    assert cli.main(["checkpoints", "fetch", f"localhost:{folder}", "mine/", "--step", "10"]) == 0
    assert verify("mine/checkpoint-10").whole


def test_a_file_of_torch_save_is_fetched_as_a_file(folder: Path, capsys) -> None:
    file = folder / "last.pt"
    torch_file = test_kinds.torch_file()
    file.write_bytes(torch_file)
    done = told(capsys, "checkpoints", "fetch", f"localhost:{file}", code=0)
    here = Path("last.pt").absolute()
    assert (done["target"], done["files"]) == (str(here), 1) and here.read_bytes() == torch_file
    assert cli.main(["checkpoints", "fetch", f"localhost:{file}"]) == 2
    assert "nothing is overwritten" in capsys.readouterr().err
    Path("mine").mkdir()
    assert cli.main(["checkpoints", "fetch", str(file), "mine"]) == 0
    assert Path("mine", "last.pt").read_bytes() == torch_file
    assert sorted(path.name for path in Path().iterdir()) == ["last.pt", "mine"]


def test_a_damaged_one_is_not_brought_home(folder: Path, capsys) -> None:
    assert cli.main(["checkpoints", "fetch", f"localhost:{folder}", "--step", "30"]) == 1
    assert "checkpoint-altered" in capsys.readouterr().err
    assert not list(Path().iterdir())


def test_another_machines_checkpoint_is_verified_and_pruned_there(folder: Path, capsys) -> None:
    assert told(capsys, "checkpoints", "verify", f"localhost:{folder}/checkpoint-20", code=0)["tensors"] == 30
    assert (
        told(capsys, "checkpoints", "verify", f"localhost:{folder}/checkpoint-30", code=1)["whole"] is False
    )
    pruned = told(capsys, "checkpoints", "prune", f"localhost:{folder}", "--keep", "1", "-n", code=0)
    assert pruned["removed"] == ["checkpoint-10"] and (folder / "checkpoint-10").is_dir()
    told(capsys, "checkpoints", "prune", f"localhost:{folder}", "--keep", "1", "-y", code=0)
    assert not (folder / "checkpoint-10").exists() and (folder / "checkpoint-20").is_dir()


@pytest.mark.parametrize(
    "text", ["localhost:/no/such/folder", "localhost:~/no-such-folder", "host:relative", "/no/such"]
)
@pytest.mark.parametrize("kind", ["list", "fetch"])
def test_a_place_that_is_none_is_bad_input(folder: Path, capsys, text: str, kind: str) -> None:
    assert cli.main(["checkpoints", kind, text]) == 2
    assert not list(Path().iterdir())


def test_a_run_is_named_by_its_id(folder: Path, home: Path, capsys) -> None:
    directory = RunDirectory("x-0101-aaaa")
    directory.create()
    directory.keeper.create()
    write_json(directory.keeper.state, {"id": "x-0101-aaaa", "output_dir": str(folder)})
    assert len(told(capsys, "checkpoints", "list", "x-0101", code=0)["checkpoints"]) == 3
    done = told(capsys, "checkpoints", "fetch", "x-0101", code=0)
    assert Path(done["target"]).name == "x-0101-aaaa-checkpoint-20"
    write_json(directory.keeper.state, {"id": "x-0101-aaaa"})
    assert cli.main(["checkpoints", "list", "x-0101"]) == 2
    assert "has saved nothing" in capsys.readouterr().err
    (home / "nothing").mkdir(parents=True)
    write_json(directory.keeper.state, {"id": "x-0101-aaaa", "output_dir": str(home / "nothing")})
    assert cli.main(["checkpoints", "fetch", "x-0101"]) == 2
    assert "has saved nothing" in capsys.readouterr().err


def test_a_file_that_a_script_saved_elsewhere_is_listed_and_fetched(
    tmp_path: Path, home: Path, capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    saved = tmp_path / "work" / "m.pt"
    saved.parent.mkdir()
    saved.write_bytes(test_kinds.torch_file())
    directory = RunDirectory("x-0101-aaaa")
    directory.create()
    directory.keeper.create()
    (tmp_path / "output").mkdir()
    state = {"id": "x-0101-aaaa", "output_dir": str(tmp_path / "output"), "saves": [{"path": str(saved)}]}
    write_json(directory.keeper.state, state)
    (one,) = told(capsys, "checkpoints", "list", "x-0101", code=0)["checkpoints"]
    assert (one["path"], one["whole"], one["bytes"]) == (str(saved), True, saved.stat().st_size)
    told(capsys, "checkpoints", "fetch", "x-0101", "here/", code=0)
    assert (tmp_path / "here" / "x-0101-aaaa-m.pt").read_bytes() == saved.read_bytes()


# ---- nodes that break off, change, or lie ----


class Stage:
    """A node with one checkpoint: `files` is what it tells of them, `sent` the lines it sends then."""

    def __init__(self, **files: bytes):
        self.files = files
        self.described = [
            {"name": name, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
            for name, data in files.items()
        ]
        self.report: dict[str, Any] = {"whole": True, "step": 5, "findings": []}
        self.asked: list[dict[str, int]] = []
        self.breaks_after: int | None = None

    async def call(self, verb: str, what: str, **_: Any) -> dict[str, Any]:
        assert (verb, what) == ("checkpoints", "files")
        return {"path": "/far/checkpoint-5", "report": self.report, "files": self.described}

    async def lines(self, verb: str, what: str, stdin: dict[str, Any]):
        self.asked.append(stdin["files"])
        for count, line in enumerate(self.sent(stdin["files"])):
            if count == self.breaks_after:
                raise CouldNotTell("the connection was lost")
            yield line

    def sent(self, wanted: dict[str, int]) -> Iterator[dict[str, Any]]:
        for name, offset in wanted.items():
            for at in range(offset, len(self.files[name]), 4):
                data = base64.b64encode(self.files[name][at : at + 4]).decode()
                yield {"name": name, "offset": at, "data": data}

    def place(self) -> CheckpointPlace:
        nodes = Nodes({"far": self}, {"far": Node("far", "far", 0)})  # type: ignore[dict-item]
        return CheckpointPlace("far:/far", {"path": "/far"}, nodes)

    def fetch(self, target: Path):
        return asyncio.run(fetch(self.place(), str(target)))


def test_a_copy_that_breaks_off_is_under_no_name_and_goes_on_from_there(tmp_path: Path) -> None:
    stage = Stage(a=b"0123456789", b=b"abcdefgh")
    stage.breaks_after = 4
    with pytest.raises(CouldNotTell):
        stage.fetch(tmp_path / "to")
    assert [path.name for path in tmp_path.iterdir()] == [FETCHING + "to"]
    stage.breaks_after = None
    done = stage.fetch(tmp_path / "to")
    assert stage.asked == [{"a": 0, "b": 0}, {"b": 4}]
    assert (done.kept_bytes, done.copied_bytes) == (14, 4)
    assert {path.name: path.read_bytes() for path in (tmp_path / "to").iterdir()} == stage.files


def test_a_part_of_another_file_is_found_by_its_digest_and_brought_anew(tmp_path: Path) -> None:
    growing = tmp_path / (FETCHING + "to")
    growing.mkdir()
    (growing / "a").write_bytes(b"XXXX")
    (growing / "stray").write_bytes(b"of an earlier one")
    stage = Stage(a=b"0123456789")
    stage.fetch(tmp_path / "to")
    assert stage.asked == [{"a": 4}, {"a": 0}]
    assert [path.read_bytes() for path in (tmp_path / "to").iterdir()] == [b"0123456789"]


def test_a_file_that_never_has_its_digest_gives_no_copy(tmp_path: Path) -> None:
    stage = Stage(a=b"0123456789")
    stage.described[0]["sha256"] = "0" * 64
    with pytest.raises(CouldNotTell, match="another SHA-256"):
        stage.fetch(tmp_path / "to")
    assert not (tmp_path / "to").exists()


@pytest.mark.parametrize("name", ["../a", "/etc/a", "a/../../b", "", ".", "a//b", "a\0b", "a\\b"])
def test_a_name_that_leads_out_of_the_folder_is_refused(tmp_path: Path, name: str) -> None:
    stage = Stage(a=b"0123")
    stage.described[0]["name"] = name
    with pytest.raises(CouldNotTell):
        stage.fetch(tmp_path / "to")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("change", [{"bytes": -1}, {"bytes": "4"}, {"sha256": "x"}, {"sha256": None}])
def test_a_file_without_size_or_digest_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    stage = Stage(a=b"0123")
    stage.described[0].update(change)
    with pytest.raises(CouldNotTell):
        stage.fetch(tmp_path / "to")


@pytest.mark.parametrize(
    "line",
    [
        {"name": "b", "offset": 0, "data": "AAAA"},
        {"name": "a", "offset": 4, "data": "AAAA"},
        {"name": "a", "offset": 0, "data": base64.b64encode(b"0123456789AB").decode()},
        {"name": "a", "offset": 0, "data": "%%%"},
        {"name": "a", "offset": 0, "data": ""},
        {"name": "a"},
        {},
    ],
)
def test_what_was_not_asked_for_is_not_written(tmp_path: Path, line: dict[str, Any]) -> None:
    stage = Stage(a=b"0123456789")
    stage.sent = lambda wanted: iter([line])  # type: ignore[method-assign]
    with pytest.raises(CouldNotTell, match="not requested"):
        stage.fetch(tmp_path / "to")
    assert not (tmp_path / "to").exists()


def test_a_full_disk_is_said_before_anything_comes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(a=b"0123456789")
    monkeypatch.setattr(checkpoint_fetch.shutil, "disk_usage", lambda _: SimpleNamespace(free=5))
    with pytest.raises(BadInput, match="are free at"):
        stage.fetch(tmp_path / "to")
    assert stage.asked == []


def test_a_checkpoint_that_could_not_be_judged_is_fetched_and_said_to_be_so(tmp_path: Path) -> None:
    stage = Stage(a=b"0123")
    stage.report = {"whole": False, "findings": [{"id": "x", "verdict": "unknown", "saw": "?"}]}
    assert stage.fetch(tmp_path / "to").whole is False
    stage.report = {"whole": False, "findings": [{"id": "x", "verdict": "block", "saw": "cut"}]}
    with pytest.raises(Blocked, match="x: cut"):
        stage.fetch(tmp_path / "too")


# ---- what a text means ----


@pytest.mark.parametrize(
    ("text", "node", "path"),
    [
        ("node7:/a b/c", "node7", "/a b/c"),
        ("me@node7:~/out", "node7", "~/out"),
        ("[fe80::1]:/out", "ip6-fe80--1", "/out"),
    ],
)
def test_a_node_and_a_path(home: Path, text: str, node: str, path: str) -> None:
    place = of_text(text)
    assert (place.node, place.path) == (node, path)


def test_a_run_file_means_its_newest_run(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "run.yaml"
    file.write_text("nodes: localhost\n")
    asked: list[str | None] = []
    monkeypatch.setattr(checkpoint_places, "found", lambda text: asked.append(text) or "demo-1")
    monkeypatch.setattr(checkpoint_places.index, "directory_here", lambda run_id: tmp_path)
    assert of_text(str(file), file=True).request == of_text(str(file)).request == {"run": "demo-1"}
    assert asked == [str(file), str(file)]


@pytest.mark.parametrize("text", ["-oProxyCommand=x:/a", "node:relative", "a b:/x", "node[1-2]:/x"])
def test_what_is_no_node_and_path_is_none(home: Path, text: str) -> None:
    with pytest.raises(BadInput):
        of_text(text)


def test_a_run_of_a_script_is_verified_and_listed_where_the_script_saved(
    folder: Path, home: Path, capsys
) -> None:
    run_id = "script-1121-abcd"
    directory = RunDirectory(run_id, str(home))
    directory.create(node="a", keeper=True)
    saves = [
        {"path": str(folder.parent / "mine" / "step-9")},
        {"path": str(folder.parent / "mine" / "step-8")},
    ]
    for step in ("step-8", "step-9"):
        test_kinds.hf_model(folder.parent / "mine" / step)
    state = {"id": run_id, "state": "succeeded", "output_dir": str(folder.parent / "empty"), "saves": saves}
    (folder.parent / "empty").mkdir()
    write_json(directory.keeper.state, state)
    said = told(capsys, "checkpoints", "verify", run_id, code=0)
    assert (said["path"], said["kind"]) == (saves[0]["path"], "huggingface")
    listed = told(capsys, "checkpoints", "list", run_id, code=0)["checkpoints"]
    assert [(one["name"], one["kind"]) for one in listed] == [(one["path"], "huggingface") for one in saves]
