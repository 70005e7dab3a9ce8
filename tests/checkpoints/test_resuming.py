"""What a run goes on from: the newest verified checkpoint with its state, and never another run's."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from allranks import checkpoints
from allranks.checkpoints import resuming

EARLIER, NOW, OTHER = "tiny-1120-abcd", "tiny-1121-efgh", "other-1121-abcd"


@pytest.fixture
def saved(tmp_path, checkpoint_at):
    """Makes `<run id>/checkpoint-<step>` with a state beside the adapter, and a manifest of both."""

    def make(run_id: str, step: int, state: bool = True, root: str = "runs") -> Path:
        folder = tmp_path / root / run_id
        folder.mkdir(parents=True, exist_ok=True)
        checkpoints.mark(str(folder), run_id)
        made = checkpoint_at(folder / f"checkpoint-{step}", step=step)
        made.write(manifest=False)
        if state:
            for name in resuming.STATE:
                (made.path / name).write_text("{}")
        made.covered = [*resuming.STATE, "adapter_model.safetensors", "adapter_config.json"]
        made.seal()
        os.utime(made.weights, (step, step))
        return made.path

    return make


def found(tmp_path: Path, **more) -> str | None:
    answer = resuming.find_resume(str(tmp_path / "runs" / NOW), {}, **more)
    return answer["found"] and answer["found"]["path"]


def test_the_newest_of_earlier_runs_of_this_name(tmp_path, saved):
    saved(EARLIER, 10)
    newest = saved(EARLIER, 20)
    saved(OTHER, 30)

    assert found(tmp_path) == str(newest)


def test_a_run_that_still_trains_keeps_its_checkpoints_to_itself(tmp_path, saved):
    """It prunes them while another run reads them."""
    idle = saved(EARLIER, 10)
    busy = saved("tiny-1120-bbbb", 20)
    answer = resuming.find_resume(str(tmp_path / "runs" / NOW), {}, busy=["tiny-1120-bbbb"])
    assert answer["found"]["path"] == str(idle)
    assert answer["passed_over"] == [{"path": str(busy.parent), "why": "its run still trains"}]


def test_its_own_come_first(tmp_path, saved):
    saved(EARLIER, 20)
    own = saved(NOW, 5)

    assert found(tmp_path) == str(own)


@pytest.mark.parametrize("damage", ["state", "weights", "trainer", "stateless"])
def test_a_newer_one_that_is_not_whole_or_has_no_state_is_passed_over(tmp_path, saved, damage):
    good = saved(EARLIER, 10)
    bad = saved(EARLIER, 20, state=damage != "stateless")
    name = {
        "state": resuming.STATE[1],
        "weights": "adapter_model.safetensors",
        "trainer": "trainer_state.json",
    }
    if damage in name:
        (bad / name[damage]).write_text('{"global')

    answer = resuming.find_resume(str(tmp_path / "runs" / NOW), {})

    assert answer["found"]["path"] == str(good)
    assert [one["path"] for one in answer["passed_over"]] == [str(bad)] and answer["passed_over"][0]["why"]


@pytest.mark.parametrize(
    "pickle, named",
    [("global_step10", "DeepSpeed's pickled shards"), ("optimizer.pt", "the trainer's pickled optimizer.pt")],
)
def test_pickles_are_never_taken(tmp_path, saved, pickle, named):
    path = saved(EARLIER, 10, state=False)
    (path / pickle).mkdir()

    answer = resuming.find_resume(str(tmp_path / "runs" / NOW), {}, path=str(path))

    assert answer["found"] is None
    assert [(f["id"], f["saw"]) for f in answer["findings"]] == [
        ("checkpoint-not-resumable", f"its state is {named}")
    ]
    assert found(tmp_path) is None


def test_a_state_that_the_manifest_does_not_name_is_not_trusted(tmp_path, saved):
    path = saved(EARLIER, 10, state=False)
    for name in resuming.STATE:
        (path / name).write_text("{}")

    assert "does not vouch" in resuming.lacks(str(path)) and found(tmp_path) is None


def test_an_unmarked_folder_and_one_with_another_adapter_are_passed_over(tmp_path, saved):
    unmarked = saved(EARLIER, 10)
    (unmarked.parent / ".allranks-run").unlink()
    saved("tiny-1119-zzzz", 20)

    assert found(tmp_path) is not None
    answer = resuming.find_resume(str(tmp_path / "runs" / NOW), {"rank": 99})
    assert answer["found"] is None and "rank" in answer["passed_over"][0]["why"]


def test_a_copy_stands_for_a_head_node_that_is_gone(tmp_path, saved):
    copy = saved(EARLIER, 10, root="nfs")

    assert found(tmp_path) is None
    assert found(tmp_path, copies=str(tmp_path / "nfs" / NOW)) == str(copy)


def test_a_named_path_is_taken_or_refused(tmp_path, saved):
    path = saved(OTHER, 10)

    assert found(tmp_path, path=str(path)) == str(path)
    (path / "adapter_config.json").unlink()
    answer = resuming.find_resume(str(tmp_path / "runs" / NOW), {}, path=str(path))
    assert answer["found"] is None and answer["findings"]


@pytest.mark.parametrize("unread", ["its own", "an earlier run's", "the folder of all runs"])
def test_a_folder_that_cannot_be_read_is_not_an_empty_one(tmp_path, saved, monkeypatch, unread):
    earlier = saved(EARLIER, 20)
    mine = tmp_path / "runs" / NOW
    mine.mkdir()
    broken = {"its own": mine, "an earlier run's": earlier.parent, "the folder of all runs": mine.parent}[
        unread
    ]
    listdir = os.listdir

    def failing(path=".", *more):
        if path == str(broken):
            raise OSError(errno.ESTALE, os.strerror(errno.ESTALE), str(broken))
        return listdir(path, *more)

    monkeypatch.setattr(os, "listdir", failing)
    with pytest.raises(OSError, match="Stale"):
        found(tmp_path)
    monkeypatch.undo()
    assert found(tmp_path) == str(earlier)


def test_copies_are_looked_at_last_and_only_if_they_are_needed(tmp_path, monkeypatch) -> None:
    """The other storage may be slow, or ahead in its time, or not answer."""
    wanted = []
    for root, step, time in (("local", 150, 1_000), ("nfs", 200, 9_000)):
        run = tmp_path / root / "x-1128-aaaa"
        path = run / f"checkpoint-{step}"
        path.mkdir(parents=True)
        (run / ".allranks-run").write_text('{"run_id": "x-1128-aaaa"}')
        (path / "adapter_model.safetensors").touch()
        os.utime(path / "adapter_model.safetensors", (time, time))
        wanted.append(str(path))
    (tmp_path / "local" / "x-1129-bbbb").mkdir()
    places = [str(tmp_path / root / "x-1129-bbbb") for root in ("local", "nfs")]
    assert list(resuming.candidates(*places)) == wanted

    real = resuming.namesakes

    def namesakes(folder):
        if folder == places[1]:
            raise OSError("the storage does not answer")
        return real(folder)

    monkeypatch.setattr(resuming, "namesakes", namesakes)
    assert next(resuming.candidates(*places)) == wanted[0]


@pytest.mark.parametrize(
    ("run", "busy"),
    [
        ({"state": "running", "keeper_alive": True, "supervisors": {}}, True),
        ({"state": None, "keeper_alive": None, "supervisors": {"a": {"alive": True}}}, True),
        ({"state": "running", "keeper_alive": None, "supervisors": {"a": {"alive": None}}}, False),
        ({"state": None, "keeper_alive": None, "supervisors": {"a": {"alive": False}}}, False),
        ({"state": "lost", "keeper_alive": False, "supervisors": {}}, False),
        ({"state": "succeeded", "keeper_alive": True, "supervisors": {}}, False),
    ],
)
def test_only_a_run_that_is_seen_to_live_keeps_its_checkpoints(
    run, busy, tmp_path, saved, monkeypatch
) -> None:
    """After the loss of a head its checkpoints are what is left of the run."""
    from allranks.node import run_reader
    from allranks.runs import keeper_io_worker

    path = saved(EARLIER, 10)
    monkeypatch.setattr(run_reader, "runs", lambda: [{"id": EARLIER, **run}])
    found = keeper_io_worker._earlier(str(tmp_path / "runs" / NOW), {}, None, None)["found"]
    assert (found is None) is busy and (busy or found["path"] == str(path))
