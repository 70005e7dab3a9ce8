"""The parts of `inside`, one by one, without a process."""

from __future__ import annotations

import importlib
import json
import os
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allranks.core import event_from_json
from allranks.core.payloads import as_json
from allranks.core.rank_events import Settings
from allranks.worker import failures, guard, heartbeat, rank_identity
from allranks.worker.after_import import AfterImport
from allranks.worker.rank_journal import Journal
from allranks.worker.rank_reporter import STEPS_KEPT, Rank


@pytest.fixture(autouse=True)
def no_trouble():
    del guard.TROUBLE[:]
    yield
    assert guard.TROUBLE == []


def a_rank(**more: str) -> Rank:
    environment = {"ALLRANKS_RUN_ID": "r", "ALLRANKS_NODE": "n", "RANK": "3", "LOCAL_RANK": "1", **more}
    found = rank_identity.here(environment)
    assert found is not None
    return Rank(found)


# ---- place ----


@given(
    st.dictionaries(st.sampled_from(["RANK", "LOCAL_RANK", "WORLD_SIZE", "ALLRANKS_BEAT_SECONDS"]), st.text())
)
def test_no_environment_is_too_hostile(values):
    found = rank_identity.here({"ALLRANKS_RUN_ID": "r", "RANK": "0", "LOCAL_RANK": "0", **values})
    if found is not None:
        assert 0 <= found.rank < rank_identity.LARGEST_RANK and 0.05 <= found.beat_seconds <= 60.0


def test_only_the_process_that_was_marked_is_the_rank():
    mine = a_rank().place.mark
    assert mine == f"{os.getpid()}:{rank_identity.identity()[1]}"
    base = {"ALLRANKS_RUN_ID": "r", "RANK": "0", "LOCAL_RANK": "0"}
    assert rank_identity.here({**base, rank_identity.MARK: mine}) is not None
    assert rank_identity.here({**base, rank_identity.MARK: "1:1"}) is None


# ---- after_import ----


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A module `fresh_library` that can be imported anew in every test."""
    (tmp_path / "fresh_library.py").write_text("import os\nVALUE = os.environ.get('FRESH', '1')\n")
    monkeypatch.syspath_prepend(tmp_path)
    finders = list(sys.meta_path)
    yield "fresh_library"
    sys.modules.pop("fresh_library", None)
    assert sys.meta_path == finders


def test_something_runs_after_an_import_and_nothing_is_left(package):
    seen = []
    AfterImport({package: lambda module: seen.append(module.VALUE)}).install()
    assert importlib.util.find_spec(package) is not None and seen == []  # to be asked is not to be imported
    module = importlib.import_module(package)
    assert seen == ["1"]
    assert type(module.__loader__).__name__ == "SourceFileLoader"
    assert "exec_module" not in vars(module.__loader__) and module.__spec__.loader is module.__loader__


def test_a_module_that_is_there_already_is_acted_on_at_once(package):
    importlib.import_module(package)
    seen = []
    AfterImport({package: seen.append}).install()
    assert seen == [sys.modules[package]]


def test_two_watchers_of_one_module_both_see_it(package):
    seen = []
    AfterImport({package: lambda module: seen.append("first")}).install()
    AfterImport({package: lambda module: seen.append("second")}).install()
    importlib.import_module(package)
    assert sorted(seen) == ["first", "second"]


def test_a_failing_import_fails_as_it_would_and_is_tried_again(package, tmp_path):
    (tmp_path / "fresh_library.py").write_text("raise RuntimeError('half installed')\n")
    seen = []
    watcher = AfterImport({package: lambda module: seen.append(module.VALUE)})
    watcher.install()
    with pytest.raises(RuntimeError, match="half installed"):
        importlib.import_module(package)
    assert seen == []
    (tmp_path / "fresh_library.py").write_text("VALUE = 'whole'\n")
    importlib.invalidate_caches()
    importlib.import_module(package)
    assert seen == ["whole"]


def test_what_we_do_after_an_import_may_fail(package):
    AfterImport({package: lambda module: 1 / 0}).install()
    assert importlib.import_module(package).VALUE == "1"
    assert len(guard.TROUBLE) == 1 and "ZeroDivisionError" in guard.TROUBLE[0]
    del guard.TROUBLE[:]


# ---- guard ----


def test_a_covered_function_keeps_its_result_its_error_and_its_looks():
    def add(one: int, two: int = 2) -> int:
        """Adds."""
        return one + two

    covered = guard.around(add, lambda args, kwargs: 1 / 0, lambda kept: 1 / 0)
    assert covered(1) == 3 and covered.__name__ == "add" and covered.__doc__ == "Adds."
    import inspect

    assert inspect.signature(covered) == inspect.signature(add)
    with pytest.raises(TypeError):
        covered("a")
    assert len(guard.TROUBLE) == 1
    del guard.TROUBLE[:]


def test_ctrl_c_is_the_users():
    @guard.guarded
    def interrupted():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()


# ---- rank: steps and phases ----


def test_a_steps_time_leaves_saving_out_and_counts_its_data(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    rank = a_rank()
    rank.begin()
    rank.fetched(0.25, 64)
    rank.fetched(0.25, 64)
    now[0] += 2
    rank.end_step(1, 0.1, 7.5)
    saving = rank.enter("saving")
    assert rank.phase == "saving"
    inner = rank.enter("saving")
    now[0] += 30
    rank.leave(inner)
    assert rank.leave(saving) == 30
    now[0] += 1
    rank.end_step(2)
    rank.release()
    assert list(rank.records) == [[1, 7.5, 2.0, 0.5, 128, 0.1, None, None], [2, None, 1.0, *[None] * 5]]


def test_a_plain_loops_first_step_begins_with_its_first_wait(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    rank = a_rank()
    rank.fetched(3.0, 0)
    now[0] += 1
    rank.end_step(1)
    rank.release()
    assert rank.records[0][2:4] == [4.0, 3.0]


def test_phases_only_move_on():
    rank = a_rank()
    assert rank.phase == "importing"
    rank.reach("preparing")
    loading = rank.enter("loading")
    rank.reach("training")
    assert rank.phase == "loading"
    rank.leave(loading)
    rank.reach("preparing")
    assert rank.phase == "training"
    rank.reach("done")
    rank.reach("preparing")
    assert rank.phase == "done"
    rank.reach("training")  # a second training in one script
    assert rank.phase == "training"


# ---- heart and journal ----


def beats(path):
    events = [event_from_json(json.loads(text)) for text in path.read_text().splitlines()]
    return [event.data for event in events if event.kind == "beat"]


def test_a_loop_that_is_too_fast_is_told_in_part_and_counted(tmp_path):
    rank, path = a_rank(), tmp_path / "rank-3.jsonl"
    for step in range(STEPS_KEPT + 500):
        rank.end_step(step)
    rank.release()
    heartbeat.Heartbeat(rank, Journal(str(path))).beat()
    (beat,) = beats(path)
    assert len(beat["steps"]) == heartbeat.STEPS_IN_A_BEAT and beat["steps"][-1][0] == STEPS_KEPT + 499
    assert beat["steps_dropped"] == STEPS_KEPT + 500 - heartbeat.STEPS_IN_A_BEAT
    assert path.stat().st_size < 64 << 10


def test_steps_of_a_beat_that_could_not_be_written_come_with_the_next(tmp_path):
    rank, folder = a_rank(), tmp_path / "late"
    beating = heartbeat.Heartbeat(rank, Journal(str(folder / "rank-3.jsonl")))
    rank.end_step(1)
    rank.release()
    beating.beat()
    rank.emit(Settings(world_size=2))
    assert beating.flush() is False
    folder.mkdir()
    rank.end_step(2)
    rank.release()
    assert beating.flush() is True
    beating.beat()
    assert [record[0] for record in beats(folder / "rank-3.jsonl")[0]["steps"]] == [1, 2]
    assert '"settings"' in (folder / "rank-3.jsonl").read_text()


def test_a_loss_that_is_no_number_is_told_as_it_is(tmp_path):
    rank, path = a_rank(), tmp_path / "rank-3.jsonl"
    rank.end_step(1, loss=float("nan"))
    rank.release()
    heartbeat.Heartbeat(rank, Journal(str(path))).beat()
    loss = beats(path)[0]["steps"][0][1]
    assert loss != loss


def test_an_event_without_a_json_form_says_so(tmp_path):
    rank, path = a_rank(), tmp_path / "rank-3.jsonl"
    beating = heartbeat.Heartbeat(rank, Journal(str(path)))
    rank.emit(Settings(framework=object()))
    beating.flush()
    assert json.loads(path.read_text())["kind"] == "settings" and len(guard.TROUBLE) == 1
    beating.beat()
    assert beats(path)[0]["trouble"][0].startswith("event settings") and guard.TROUBLE == []


# ---- failures ----


class DistBackendError(RuntimeError):
    pass


COMMUNICATION = [
    DistBackendError(
        "NCCL error in: ../torch/csrc/distributed/c10d/NCCLUtils.cpp:268, remote process exited"
    ),
    RuntimeError(
        "[/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:546] Connection closed by peer [127.0.0.1]:35427"
    ),
    RuntimeError(
        "Timed out waiting 1800000ms for recv operation to complete on gloo/transport/tcp/unbound_buffer.cc"
    ),
    RuntimeError(
        "The client socket has timed out after 60000ms while trying to connect to (10.0.0.1, 29500)."
    ),
    RuntimeError("Gloo connectFullMesh failed with [..] no error"),
    RuntimeError("wait timeout after 300000ms, keys: /default_pg/0//cuda//timeout_dump"),
]
OWN = [
    ValueError("could not convert string to float"),
    RuntimeError("CUDA out of memory. Tried to allocate 20.00 MiB"),
    FileNotFoundError(2, "No such file or directory", "/data/x.json"),
    ConnectionResetError(104, "Connection reset by peer"),  # a download's
    OSError(28, "No space left on device"),
    KeyError("tcp"),
]


@pytest.mark.parametrize("error", COMMUNICATION, ids=lambda e: str(e)[:25])
def test_a_failed_collective_is_communication(error):
    assert failures.is_communication(error)


@pytest.mark.parametrize("error", OWN, ids=lambda e: type(e).__name__)
def test_a_ranks_own_fault_is_not(error):
    assert not failures.is_communication(error)


def test_an_exception_is_told_within_bounds():
    def deep(n):
        if n:
            deep(n - 1)
        raise ValueError("a" * 10_000 + "\x00\x1b[0m\udc80")

    try:
        try:
            deep(300)
        except ValueError as error:
            raise RuntimeError("outer") from error
    except RuntimeError as error:
        outer = failures.describe(error, error.__traceback__)
        inner = failures.describe(error.__cause__, error.__cause__.__traceback__)
    assert outer.causes[0].type == "ValueError" and len(outer.causes[0].message) == 1000
    assert inner.frames is not None and len(inner.frames) == failures.FRAMES
    assert inner.frames[-1].function == "deep"
    assert len(inner.message) < 4100 and inner.message.endswith("\udc80")
    json.dumps(as_json([outer, inner]))


def test_only_a_relative_path_that_was_not_found_tells_the_ranks_folder(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)

    def said(path):
        with pytest.raises(OSError) as caught:
            os.stat(path)
        return failures.describe(caught.value, None).folder

    assert said("configurator.py") == said("a/b.json") == str(tmp_path)
    assert said("/no/such/file") == ""
    assert said("x" * 300) == ""  # another error
    assert not failures.describe(FileNotFoundError("of a library"), None).has("folder")
