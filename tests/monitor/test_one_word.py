"""One word about one stall: no-progress and rank-holds-up never contradict each other."""

from __future__ import annotations

from allranks.core import BLOCK, Event
from tests.monitor.told import LOADS, WAITS, Stall


class Looked(Stall):
    """Asked in silence at 60, a moment before the stall is one (at 63)."""

    asked = 60.0

    def __init__(self, *stacks):
        super().__init__(3)
        self.stacks = stacks
        self.wait(51, 60)
        self.watch.add(Event(self.asked, "evidence", "n0", None, {"why": "still", "quiet": True}))

    def answer(self, at):
        for rank, frames in enumerate(self.stacks):
            if frames is not None:
                self.stack(rank, frames, at=at - self.asked)

    def ids(self):
        return [finding.id for _, finding in self.said]


def test_a_culprit_that_is_known_at_the_stall_is_the_only_word():
    stall = Looked(WAITS, LOADS, WAITS)
    stall.answer(61.0)
    stall.wait(61, 120)
    assert stall.ids() == ["rank-holds-up"]
    at, finding = stall.said[0]
    assert at <= 63.0 and finding.where.rank == 1 and "replaces" not in finding.saw


def test_nothing_is_said_while_the_answers_are_awaited():
    stall = Looked(WAITS, LOADS, WAITS)
    stall.wait(60, 66)
    assert stall.said == []
    stall.answer(66.0)
    stall.wait(66, 120)
    assert stall.ids() == ["rank-holds-up"]


def test_a_rank_that_never_answers_holds_up_the_word_for_eight_seconds_at_most():
    stall = Looked(WAITS, None, LOADS)  # one outside the collective, one unknown: nobody is named
    stall.answer(61.0)
    stall.wait(61, 90)
    ((at, finding),) = stall.said
    assert finding.id == "no-progress" and at <= 69.0


def test_no_rank_differs_is_said_only_of_ranks_that_have_answered():
    stall = Looked(WAITS, WAITS, WAITS)
    stall.answer(61.0)
    stall.wait(61, 90)
    ((at, finding),) = stall.said
    assert (finding.id, at) == ("no-progress", 63) and "no rank differs" in finding.fix


def test_a_name_that_comes_after_no_progress_says_that_it_replaces_it():
    stall = Stall(3)
    stall.wait(51, 64)
    ((_, first),) = stall.said
    assert first.id == "no-progress" and "differs from the others" not in first.fix
    stall.ask(63.2)
    for rank, frames in enumerate((WAITS, LOADS, WAITS)):
        stall.stack(rank, frames, at=1.0)
    stall.wait(64, 300)
    (_, second) = (finding for _, finding in stall.said)
    assert (second.id, second.where.rank) == (
        "rank-holds-up",
        1,
    ) and "This replaces no-progress." in second.saw


def test_a_culprit_that_was_known_in_silence_still_ends_the_run_after_ten_minutes():
    stall = Looked(WAITS, LOADS, WAITS)
    stall.answer(61.0)
    stall.wait(61, 652)
    for at in (652.0, 663.0):  # the keeper asks twice more before it stops the run
        stall.asked = at
        stall.watch.add(Event(at, "evidence", "n0", None, {"why": "still", "quiet": True}))
        stall.answer(at + 0.5)
        stall.wait(int(at) + 1, int(at) + 11)
    assert [(finding.id, finding.verdict) for _, finding in stall.said][1:] == [("rank-holds-up", BLOCK)]
    assert 663 <= stall.said[1][0] <= 674
