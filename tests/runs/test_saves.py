"""What the keeper does about each save: it looks, prunes, makes room, copies, and stops a run that cannot save."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from allranks.core import Event
from allranks.core.payloads import as_json
from allranks.runs import keeper_saves
from allranks.runs.keeper_saves import Saves
from tests.harness import until

WHOLE = {"whole": True, "step": 1, "findings": [], "kind": "adapter"}
DAMAGED = {
    "whole": False,
    "kind": "adapter",
    "step": 1,
    "findings": [{"id": "adapter-empty", "verdict": "block", "where": {}, "saw": "40 bytes, no tensor"}],
}


class Answers:
    """Saves of a run in `/out`, with answers in the place of children; everything asked is kept."""

    def __init__(self, copy_to: str | None = None, **answers: Any):
        self.asked: list[tuple[str, dict]] = []
        self.answers = {
            "verify": WHOLE,
            "prune": {"removed": []},
            "room": {"finding": {"verdict": "ok"}},
            **answers,
        }
        self.notes: list[tuple[str, dict]] = []
        keep = {"output_dir": "/out", "keep": 3, "adapter": {"trained": True, "step": 9}, "copy_to": copy_to}
        self.saves = Saves({"run_id": "run-1", "node": "a", "keep": keep}, self.call)

    def call(self, what: str, arguments: Any) -> Any:
        self.asked.append((what, dict(arguments)))
        answer = self.answers[what]
        return answer(arguments) if callable(answer) else (answer, "")

    def saved(self, name: str, rank: int = 0) -> None:
        for kind in ("saving", "saved"):
            self.saves.add(Event(0.0, kind, "a", rank, {"path": f"/out/{name}", "step": 1}))

    def findings(self) -> list:
        return self.saves.take(lambda content: self.notes.append((content.KIND, as_json(content))))

    def end(self, **more: Any) -> list:
        for _ in self.saves.end(**more):
            time.sleep(0.01)
        return self.findings()

    def until(self, what: str, times: int) -> None:
        until(lambda: self.words().count(what) >= times, self.words)
        assert self.words().count(what) == times

    def words(self) -> list[str]:
        return [what for what, _ in self.asked]


@pytest.fixture
def desk() -> Callable[..., Answers]:
    return Answers


def test_each_checkpoint_is_verified_then_the_folder_pruned(desk):
    one = desk()
    one.saved("checkpoint-1")
    one.saved("checkpoint-2", rank=1)  # rank 0 writes
    one.saved("")  # the final adapter: the end's matter
    one.saved("../elsewhere/checkpoint-3")

    assert one.end() == []
    assert one.words() == ["verify", "prune", "room"]
    assert one.asked[0][1] == {
        "folder": "/out/checkpoint-1",
        "expect": {},
    }  # after a step nothing need be trained
    assert ("checkpoint", {"path": "/out/checkpoint-1", "whole": True, "step": 1}) in one.notes


def test_a_first_save_that_is_not_whole_stops_the_run(desk):
    one = desk(verify=DAMAGED)
    one.saved("checkpoint-1")

    (finding,) = one.end()

    assert (finding.id, finding.verdict) == ("rehearsal-failed", "block")
    assert "adapter-empty: 40 bytes, no tensor" in finding.saw and "prune" not in one.words()


def test_a_later_one_is_said_and_the_run_goes_on(desk):
    answers = iter([(WHOLE, ""), (DAMAGED, "")])
    one = desk(verify=lambda arguments: next(answers))
    one.saved("checkpoint-1")
    one.saved("checkpoint-50")

    (finding,) = one.end()

    assert (finding.id, finding.verdict) == ("save-not-whole", "warn")
    assert [a["expect"] for what, a in one.asked if what == "verify"] == [{}, {"trained": True}]


def test_an_adapter_that_cannot_be_judged_stops_no_run(desk):
    """Of IA3 or prompt tuning: nobody knows that it is damaged."""
    finding = {"id": "adapter-kind-unknown", "verdict": "unknown", "where": {}, "saw": "peft_type IA3"}
    one = desk(verify={**DAMAGED, "findings": [finding]})
    one.saved("checkpoint-1")
    (said,) = one.end()
    assert (said.id, said.verdict) == ("save-not-whole", "warn")
    assert said.saw == "checkpoint-1 could not be judged: adapter-kind-unknown: peft_type IA3"


def test_a_folder_that_cannot_be_pruned_is_said(desk):
    one = desk(prune=lambda arguments: (None, "it did not end within 1800 s"))
    one.saved("checkpoint-1")
    (said,) = one.end()
    assert (said.id, said.verdict) == ("prune-failed", "note") and "1800 s" in said.saw


@pytest.mark.parametrize(
    ("verdict", "said"),
    [("block", [("save-not-whole", "warn")]), ("unknown", [])],
    ids=["damaged", "partly here"],
)
def test_the_first_save_of_another_kind_ends_no_run(desk, verdict, said):
    """Other ranks may still write their part, or have it on disks of their own."""
    finding = {"id": "checkpoint-x", "verdict": verdict, "where": {}, "saw": "2 of 4 ranks"}
    one = desk(verify={**DAMAGED, "kind": "deepspeed", "findings": [finding]})
    one.saved("checkpoint-1")

    assert [(f.id, f.verdict) for f in one.end()] == said
    assert "prune" not in one.words()


def test_a_filling_disk_is_pruned_to_the_last_one_then_said(desk):
    low = {"finding": {"id": "save-space-low", "verdict": "warn", "where": {}, "saw": "3.0 MiB free"}}
    one = desk(room=low)
    one.saved("checkpoint-1")

    (finding,) = one.end()

    assert finding.id == "save-space-low"
    assert [a["keep"] for what, a in one.asked if what == "prune"] == [3, 1]


def test_a_skipped_save_pauses_saves_and_stops_a_run_that_never_saved(desk):
    one = desk()
    skipped = Event(0.0, "save-skipped", "a", 0, {"step": 1, "planned_bytes": 3 << 20, "free_bytes": 1 << 20})
    one.saves.add(skipped)
    assert [(f.id, f.verdict) for f in one.findings()] == [("save-paused", "block")]
    one.saved("checkpoint-1")
    one.end()
    one.saves.add(skipped)
    (finding,) = one.findings()
    assert finding.verdict == "warn" and "1.0 MiB are free" in finding.saw


def test_a_save_that_peft_could_not_read_is_said_and_the_training_goes_on(desk):
    one = desk()
    skipped = Event(0.0, "save-skipped", "a", 0, {"step": 2, "unread": True, "why": "PEFT: no config"})
    one.saved("checkpoint-1")
    one.end()
    one.saves.add(skipped)

    (finding,) = one.findings()

    assert (finding.id, finding.verdict) == ("save-unread", "warn")
    assert "step 2 was not saved: PEFT: no config" in finding.saw and "MiB" not in finding.saw


def test_a_first_save_that_peft_could_not_read_stops_the_run(desk):
    one = desk()
    one.saves.add(Event(0.0, "save-skipped", "a", 0, {"step": 1, "unread": True, "why": "PEFT: no config"}))
    assert [(f.id, f.verdict) for f in one.findings()] == [("save-unread", "block")]


def test_a_save_that_was_left_out_is_not_looked_for(desk):
    one = desk()
    one.saved("checkpoint-1")
    one.until("verify", 1)
    full = {
        "step": 2,
        "planned_bytes": 3 << 20,
        "free_bytes": 0,
        "why": "OSError: [Errno 122] Disk quota exceeded",
    }
    for kind, data in (
        ("saving", {}),
        ("save-skipped", full),
        ("saved", {}),
    ):  # a trainer says so in any case
        one.saves.add(Event(0.0, kind, "a", 0, {"path": "/out/checkpoint-2", **data}))
    one.saved("checkpoint-3")

    (finding,) = one.end()
    assert (finding.id, finding.verdict) == ("save-paused", "warn") and "quota exceeded" in finding.saw
    looked = [arguments["folder"] for what, arguments in one.asked if what == "verify"]
    assert looked == ["/out/checkpoint-1", "/out/checkpoint-3"]


def test_what_a_later_save_has_replaced_is_neither_missed_nor_copied(desk):
    hold, answers = threading.Event(), iter([(WHOLE, ""), (WHOLE, "")])

    def verify(arguments):
        hold.wait(60)
        return next(answers)

    pruned = {"removed": ["checkpoint-1", "checkpoint-2", "checkpoint-3/README.md"], "freed_bytes": 1}
    one = desk(copy_to="/nfs", verify=verify, prune=pruned, copy={"target": ""})
    for step in (1, 2, 3):  # while the first is looked at
        one.saved(f"checkpoint-{step}")
    hold.set()

    assert one.end() == []
    asked = [
        (what, a.get("folder") or a.get("source")) for what, a in one.asked if what in ("verify", "copy")
    ]
    assert asked == [
        ("verify", "/out/checkpoint-1"),
        ("verify", "/out/checkpoint-3"),
        ("copy", "/out/checkpoint-3"),
    ]


def test_a_frozen_copy_holds_up_no_look_at_later_saves(desk):
    thaw = threading.Event()

    def frozen(arguments):
        thaw.wait(60)
        return {"target": arguments["target"]}, ""

    one = desk(copy_to="/nfs", copy=frozen)
    one.saved("checkpoint-1")
    one.until("copy", 1)
    for step in (50, 100, 150):
        one.saved(f"checkpoint-{step}")
    one.until("verify", 4)
    thaw.set()
    assert one.end(final="/out") == []
    copied = [a["target"] for what, a in one.asked if what == "copy"]
    assert copied[0] == "/nfs/run-1/checkpoint-1" and copied[-1] == "/nfs/run-1/adapter"
    assert "/nfs/run-1/checkpoint-150" in copied


def test_a_failed_copy_is_said_where_its_checkpoint_still_stands(desk, tmp_path):
    one = desk(copy_to="/nfs", copy=lambda arguments: (None, "Stale file handle"))
    one.saves.output_dir = str(tmp_path)
    (tmp_path / "checkpoint-1").mkdir()
    one.saves.add(Event(0.0, "saved", "a", 0, {"path": str(tmp_path / "checkpoint-1")}))

    (finding,) = one.end()

    assert finding.id == "copy-failed" and "Stale file handle" in finding.saw


def test_a_look_that_fails_is_a_note_and_never_a_verdict(desk):
    one = desk(verify=lambda arguments: (None, "it did not end within 600 s"))
    one.saved("checkpoint-1")

    assert one.end() == []
    assert one.notes == [
        ("checkpoint", {"path": "/out/checkpoint-1", "whole": None, "why": "it did not end within 600 s"})
    ]


def test_the_end_does_not_wait_for_a_word_that_a_full_queue_has_no_room_for(desk, monkeypatch):
    monkeypatch.setattr(keeper_saves, "MOST_WAITING", 2)
    hold = threading.Event()
    one = desk(copy_to="/nfs", verify=lambda arguments: hold.wait(60) and (WHOLE, ""), copy={"target": ""})
    for step in range(1, 9):
        one.saved(f"checkpoint-{step}")
    steps = one.saves.end(final="/out")
    next(steps)
    hold.set()
    deadline = time.monotonic() + 60
    for _ in steps:
        time.sleep(0.01)
        assert time.monotonic() < deadline
    assert one.asked[-1][0] == "copy" and one.asked[-1][1]["source"] == "/out"
    assert one.words().count("verify") <= 4, "more than may wait were looked at"


def test_a_last_copy_that_takes_too_long_is_said(desk, monkeypatch):
    monkeypatch.setattr(keeper_saves, "END_SECONDS", 0.2)
    thaw = threading.Event()
    one = desk(copy_to="/nfs", copy=lambda arguments: thaw.wait(60) and ({"target": ""}, ""))
    try:
        (finding,) = one.end(final="/out")
    finally:
        thaw.set()
    assert finding.id == "copy-failed" and "the copy of out was not complete" in finding.saw
    assert finding.where.file == "/nfs/run-1"


def test_a_copy_that_raises_is_a_note_and_the_next_one_is_made(desk):
    def copy(arguments):
        if arguments["source"] == "/out/checkpoint-1":
            raise ValueError("odd")
        return {"target": arguments["target"]}, ""

    one = desk(copy_to="/nfs", copy=copy)
    one.saved("checkpoint-1")
    one.until("copy", 1)
    assert one.end(final="/out") == []
    assert ("saves-fault", {"path": "/out/checkpoint-1", "error": "ValueError: odd"}) in one.notes
    assert [a["target"] for what, a in one.asked if what == "copy"][-1] == "/nfs/run-1/adapter"
