"""What a node answers about its checkpoints: `tests/checkpoints/said` has each answer whole."""

from __future__ import annotations

import base64
import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from allranks.checkpoints import delivery, node_verbs, script_saves
from allranks.core import BadInput
from allranks.node.paths import RunDirectory
from tests import said
from tests.checkpoints import test_kinds as kinds
from tests.checkpoints.conftest import Checkpoint

SAID = Path(__file__).parent / "said" / "test_node_verbs.txt"
RUN = "tiny-1121-efgh"


@pytest.fixture
def output(tmp_path: Path) -> Path:
    """Steps 10 and 20 whole, 30 damaged."""
    folder = tmp_path / "out"
    for step in (10, 20, 30):
        made = Checkpoint(folder / f"checkpoint-{step}", step=step).write()
        os.utime(made.weights, (step, step))
    weights = folder / "checkpoint-30" / "adapter_model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1])
    os.utime(weights, (30, 30))
    return folder


@pytest.fixture
def run(home: Path, output: Path) -> Callable[..., RunDirectory]:
    """run(saves, adapter) makes a run's folder: where it saved, and what its plan promised."""

    def make(
        saves: tuple[Path, ...] = (), adapter: Any = None, run_id: str = RUN, began: float = 1.0, **state: Any
    ) -> RunDirectory:
        directory = RunDirectory(run_id)
        directory.create(node="n1", keeper=True)
        directory.create(node="n2")
        kept = {
            "output_dir": str(output),
            "started_at": began,
            "saves": [{"path": str(one)} for one in saves],
        }
        Path(directory.keeper.state).write_text(json.dumps({**kept, **state}))
        Path(directory.node("n2").job).write_text(json.dumps({"keep": {"adapter": adapter}}))
        return directory

    return make


def keep(label: str, answer: Any, folder: Path) -> None:
    if isinstance(answer, dict):
        answer = {name: value for name, value in answer.items() if name != "freed_bytes"}
    lines = said.flat(json.loads(json.dumps(answer)), label)
    said.hold(SAID, [line.replace(str(folder), "") for line in lines if "sha256" not in line])


def refused(what: str, wanted: dict[str, Any]) -> str:
    with pytest.raises(BadInput) as error:
        node_verbs.document(what, wanted)
    return str(error.value)


def torch_file(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(kinds.torch_file({"step": 7, "optimizer": {"state": {}}}))
    os.utime(path, (40, 40))
    return path


# ---- which place ----


def test_a_place_is_an_absolute_path_or_a_run_of_this_node(run: Any, tmp_path: Path) -> None:
    run(adapter={"rank": 4})
    assert node_verbs.place({"path": "/x/y"}) == ("/x/y", {})
    assert node_verbs.place({"path": "~/y"}) == (os.path.expanduser("~/y"), {})
    assert node_verbs.place({"run": RUN, "path": "/x"}) == (str(tmp_path / "out"), {"rank": 4})
    run(adapter="none", run_id="tiny-1122-efgh", output_dir=None)
    assert node_verbs.expected(RunDirectory("tiny-1122-efgh")) == {}
    for wanted in ({"path": "y"}, {}, {"run": "tiny-1122-efgh"}, {"run": "tiny-1123-efgh"}):
        said.hold(SAID, [f"place {wanted}: {refused('list', wanted)}"])
    said.hold(SAID, [f"else: {refused('else', {})}"])


def test_a_script_that_promised_no_adapter_is_judged_where_it_saved(run: Any, tmp_path: Path) -> None:
    first, second = torch_file(tmp_path / "a.pt"), torch_file(tmp_path / "b.pt")
    run((first, second))
    assert node_verbs.to_verify({"run": RUN}) == (str(first), {})
    assert node_verbs.saved_by({"run": RUN}) == [str(first), str(second)] and node_verbs.saved_by({}) == []
    run((first, second), {"rank": 4})
    assert node_verbs.to_verify({"run": RUN}) == (str(tmp_path / "out"), {"rank": 4})
    run()
    assert node_verbs.to_verify({"run": RUN}) == (str(tmp_path / "out"), {})


# ---- listed, verified, pruned ----


@pytest.mark.parametrize("quick", [False, True])
def test_the_list_has_what_lies_in_the_folder_and_elsewhere(quick: bool, run: Any, tmp_path: Path) -> None:
    saves = torch_file(tmp_path / "elsewhere" / "model.pt"), tmp_path / "gone.pt"
    run((*saves, tmp_path / "out" / "checkpoint-20"), {"rank": 4, "step": 99})
    keep(f"list, {quick}", node_verbs.document("list", {"run": RUN, "quick": quick}), tmp_path)


def test_a_folder_is_listed_as_one_if_it_is_one_of_another_kind(tmp_path: Path, output: Path) -> None:
    folder = tmp_path / "model"
    kinds.hf_model(folder)
    for path in folder.iterdir():
        os.utime(path, (50, 50))
    os.utime(folder, (50, 50))
    answer = node_verbs.document("list", {"path": str(folder)})
    keep("a model", answer, tmp_path)
    deepspeed = tmp_path / "shards"
    kinds.deepspeed(deepspeed)
    assert node_verbs.existing(str(output))[0] == str(output / "checkpoint-30")
    assert node_verbs.existing(str(deepspeed)) != []
    Checkpoint(output, step=40).write()
    names = [one["name"] for one in node_verbs.document("list", {"path": str(output)})["checkpoints"]]
    assert names == ["final", "checkpoint-30", "checkpoint-20", "checkpoint-10"]
    for place in ("nowhere", "model/config.json"):
        said.hold(
            SAID, [f"{place}: {refused('list', {'path': str(tmp_path / place)})}".replace(str(tmp_path), "")]
        )


def test_verified_with_the_base_that_was_promised(run: Any, tmp_path: Path) -> None:
    base = tmp_path / "base"
    base.mkdir()
    (base / "config.json").write_text(json.dumps({"model_type": "deepseek_v3", "num_hidden_layers": 4}))
    run((), {"rank": 8, "base_model": str(base)})
    keep("verify", node_verbs.document("verify", {"run": RUN}), tmp_path)
    keep(
        "verify a path",
        node_verbs.document("verify", {"path": str(tmp_path / "out" / "checkpoint-20")}),
        tmp_path,
    )
    assert node_verbs.with_base({"rank": 3}) == {"rank": 3}


def test_pruning_keeps_three_and_changes_nothing_unless_it_is_told_to(tmp_path: Path) -> None:
    folder = tmp_path / "many"
    for step in (10, 20, 30, 40, 50):
        Checkpoint(folder / f"checkpoint-{step}", step=step).write()
    wanted = {"path": str(folder)}

    def removed(**more: Any) -> list[str]:
        return list(node_verbs.document("prune", {**wanted, **more})["removed"])

    assert removed() == ["checkpoint-20", "checkpoint-10"] and removed(keep=4, dry_run=None) == [
        "checkpoint-10"
    ]
    assert len(list(folder.iterdir())) == 5
    keep("prune", node_verbs.document("prune", {**wanted, "keep": 2, "dry_run": False}), tmp_path)
    left = sorted(path.name for path in folder.iterdir() if path.name[0] != ".")
    assert left == ["checkpoint-40", "checkpoint-50"]
    said.hold(SAID, [f"prune: {refused('prune', {'path': str(tmp_path / 'no')})}".replace(str(tmp_path), "")])


# ---- to be copied ----


def test_the_newest_whole_one_is_copied_or_that_of_a_step(run: Any, tmp_path: Path, output: Path) -> None:
    run()
    keep("files", node_verbs.document("files", {"run": RUN}), tmp_path)
    for step, name in ((None, "checkpoint-20"), (10, "checkpoint-10"), (30, "checkpoint-30")):
        assert node_verbs.document("files", {"path": str(output), "step": step})["path"] == str(output / name)
    one = str(output / "checkpoint-10")
    assert node_verbs.document("files", {"path": one})["path"] == one
    told = [refused("files", {"path": str(output), "step": 11})]
    for step in (10, 20):
        (output / f"checkpoint-{step}" / "adapter_config.json").write_text("{")
    told.append(refused("files", {"path": str(output)}))
    damaged = node_verbs.document("files", {"path": one})
    assert damaged["path"] == one and damaged["report"]["findings"]
    said.hold(SAID, [f"files: {line}".replace(str(tmp_path), "") for line in told])


def test_a_checkpoint_has_so_many_files_at_most(output: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = {"path": str(output / "checkpoint-10")}
    count = len(node_verbs.document("files", one)["files"])
    monkeypatch.setattr(node_verbs, "MOST_FILES", count)
    assert len(node_verbs.document("files", one)["files"]) == count
    monkeypatch.setattr(node_verbs, "MOST_FILES", count - 1)
    assert f"more than {count - 1} files" in refused("files", one)


def test_a_script_s_save_elsewhere_is_copied_if_the_folder_has_none(run: Any, tmp_path: Path) -> None:
    save = torch_file(tmp_path / "elsewhere" / "model.pt")
    empty = tmp_path / "empty"
    empty.mkdir()
    run((save,), output_dir=str(empty))
    answer = node_verbs.document("files", {"run": RUN})
    assert answer["single"] is True and answer["files"][0]["bytes"] == save.stat().st_size
    keep("single", answer, tmp_path)
    said.hold(
        SAID, [f"single: {refused('files', {'path': str(save), 'step': 7})}".replace(str(tmp_path), "")]
    )
    run((save,))
    assert node_verbs.document("files", {"run": RUN})["path"] == str(tmp_path / "out" / "checkpoint-20")


def test_pieces_begin_where_they_are_asked_to(
    output: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_verbs, "PIECE_BYTES", 100)
    folder = output / "checkpoint-10"
    name = "trainer_state.json"
    data = (folder / name).read_bytes()
    wanted = {"path": str(folder), "files": {name: 10, "adapter_config.json": 0}}
    pieces = list(node_verbs.answer("pieces", wanted, lambda: False))
    mine = [one for one in pieces if one["name"] == name]
    assert [one["offset"] for one in mine] == list(range(10, len(data), 100))
    assert b"".join(base64.b64decode(one["data"]) for one in mine) == data[10:]
    others = [one for one in pieces if one["name"] != name]
    assert [one["offset"] for one in others] == [100 * number for number in range(len(others))]
    assert list(node_verbs.pieces(wanted, lambda: True)) == []
    with pytest.raises(BadInput, match=r"x is no longer a file"):
        list(node_verbs.pieces({**wanted, "files": {"x": 0}}, lambda: False))
    single = torch_file(tmp_path / "one.pt")
    got = list(node_verbs.pieces({"path": str(single), "files": {"one.pt": 0}}, lambda: False))
    assert sum(len(base64.b64decode(one["data"])) for one in got) == single.stat().st_size


# ---- received ----


def sent(folder: Path) -> list[dict[str, Any]]:
    return node_verbs.document("files", {"path": str(folder)})["files"]


def test_what_arrives_grows_beside_its_place_and_is_moved_when_it_is_whole(home: Path, output: Path) -> None:
    source = output / "checkpoint-10"
    start = {"run": RUN, "name": "checkpoint-10", "files": sent(source)}
    answer = node_verbs.document("receive", start)
    goal = Path(answer["path"])
    growing = goal.with_name(delivery.GROWING + goal.name)
    assert answer["whole"] is False and not goal.exists() and growing.is_dir()
    assert stat.S_IMODE(growing.stat().st_mode) == 0o700
    assert {path.name: stat.S_IMODE(path.stat().st_mode) for path in growing.iterdir()} == {
        one["name"]: 0o600 for one in start["files"]
    }
    pieces = list(
        node_verbs.pieces({"path": str(source), "files": {one["name"]: 0 for one in start["files"]}}, bool)
    )
    for number, piece in enumerate(pieces):
        assert delivery.received({**start, "pieces": [piece]})["whole"] is False, number
    with pytest.raises(BadInput, match="does not follow what is there"):
        delivery.received({**start, "pieces": [pieces[0]]})
    assert delivery.received({**start, "whole": True}) == {"path": str(goal), "whole": True}
    assert {path.name: path.read_bytes() for path in goal.iterdir()} == {
        one["name"]: (source / one["name"]).read_bytes() for one in start["files"]
    }
    assert not growing.exists()
    assert delivery.received(start)["whole"] is True  # another node of the run has the same home
    (goal / "adapter_config.json").write_text("{}")
    assert delivery.received(start)["whole"] is False


def test_what_differs_is_not_moved(home: Path, output: Path) -> None:
    files = sent(output / "checkpoint-10")
    start = {"run": RUN, "name": "checkpoint-10", "files": files}
    delivery.received(start)
    with pytest.raises(BadInput, match="what arrived differs"):
        delivery.received({**start, "whole": True})
    with pytest.raises(BadInput, match="is not base64"):
        delivery.received({**start, "pieces": [{"name": files[0]["name"], "offset": 0, "data": "%"}]})
    for name in ("", "a//b", "../a", "a/.", "/a", "a\0b"):
        with pytest.raises(BadInput, match="is not a file below a checkpoint"):
            delivery.checked({"name": name})
    assert delivery.checked({"name": "a/b.c"}) == "a/b.c"


def test_a_single_file_arrives_as_one(home: Path, tmp_path: Path) -> None:
    save = torch_file(tmp_path / "model.pt")
    files = sent(save)
    start = {"run": RUN, "name": "model.pt", "files": files, "single": True}
    delivery.received(start)
    for piece in node_verbs.pieces({"path": str(save), "files": {"model.pt": 0}}, lambda: False):
        delivery.received({**start, "pieces": [piece]})
    goal = Path(delivery.received({**start, "whole": True})["path"])
    assert goal.is_file() and goal.read_bytes() == save.read_bytes()
    assert [path.name for path in goal.parent.iterdir()] == ["model.pt"]
    assert delivery.received(start)["whole"] is True
    goal.write_bytes(b"other")
    assert delivery.received(start)["whole"] is False


# ---- what a script can go on from ----


def resumable(folder: Path) -> Path:
    made = Checkpoint(folder, step=10).write()
    (made.path / "optimizer.pt").write_bytes(kinds.torch_file())
    return made.path


def test_the_newest_save_that_is_whole_and_has_a_state(run: Any, tmp_path: Path, home: Path) -> None:
    good, other = resumable(tmp_path / "a" / "checkpoint-10"), resumable(tmp_path / "b" / "checkpoint-10")
    stateless = Checkpoint(tmp_path / "c" / "checkpoint-10", step=10).write().path
    broken = resumable(tmp_path / "d" / "checkpoint-10")
    (broken / "adapter_config.json").write_text("{")
    own = [str(tmp_path / "gone"), str(stateless), str(broken), str(good)]
    answer = script_saves.find_save(RUN, own, None, {})
    assert answer["found"]["path"] == str(good)
    keep("a script's", {**answer, "found": None}, tmp_path)
    run((other, Path("relative")), run_id="tiny-1119-abcd", began=5.0)
    run((good,), run_id="tiny-1120-abcd", began=4.0)
    run((stateless,), run_id="other-1121-abcd", began=9.0)
    assert script_saves.earlier(RUN) == [str(other), str(good)]
    assert script_saves.find_save(RUN, [], "auto", {})["found"]["path"] == str(other)
    assert script_saves.find_save(RUN, [], None, {}) == {"found": None, "findings": [], "passed_over": []}
    assert script_saves.find_save(RUN, [str(stateless)], str(good), {})["found"]["path"] == str(good)
    named = script_saves.find_save(RUN, [], str(broken), {})
    assert named["found"] is None and named["findings"] and named["passed_over"] == []
    assert script_saves.saved_by({"saved": {"path": "/x"}}) == ["/x"] and script_saves.saved_by({}) == []


def test_the_newest_twenty_saves_are_looked_at(tmp_path: Path) -> None:
    good = resumable(tmp_path / "a" / "checkpoint-10")
    for count, path in ((19, str(good)), (20, None)):
        own = [str(tmp_path / str(number)) for number in range(count)] + [str(good)]
        found = script_saves.find_save(RUN, own, None, {})
        assert (found["found"] and found["found"]["path"]) == path
        assert len(found["passed_over"]) == count


def test_a_save_of_another_user_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good = resumable(tmp_path / "a" / "checkpoint-10")
    assert script_saves.judged(str(good), {})[0] is not None
    monkeypatch.setattr(os, "geteuid", lambda: good.stat().st_uid + 1)
    assert script_saves.judged(str(good), {}) == (None, "it belongs to another user")


def test_a_file_that_was_renamed_is_found_by_its_inode(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, new = tmp_path / "m.tmp", tmp_path / "m.pt"
    path.write_text("x")
    inode = path.stat().st_ino
    assert script_saves.where_now(str(path), None) == str(path)
    path.rename(new)
    (tmp_path / "other").write_text("y")
    assert script_saves.where_now(str(path), inode) == str(new)
    assert script_saves.where_now(str(path), None) is None
    os.link(new, tmp_path / "a.pt")
    assert script_saves.where_now(str(path), inode) == str(tmp_path / "a.pt")
    monkeypatch.setattr(script_saves, "MOST_ENTRIES", 0)
    assert script_saves.where_now(str(path), inode) is None
    assert script_saves.where_now(str(tmp_path / "no" / "m"), inode) is None
