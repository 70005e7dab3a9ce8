"""A rank puts off full garbage collections while it imports, and gives the threshold back."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from allranks.worker.garbage import MOST_SECONDS, NEVER, PutOff


@pytest.fixture(autouse=True)
def threshold() -> Iterator[tuple[int, int, int]]:
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield gc.get_threshold()
    gc.set_threshold(*before)


SAYS = "import gc\nfrom allranks.worker.activation import ACTIVE\nprint(*gc.get_threshold())\n"


@pytest.mark.parametrize(
    ("then", "third"),
    [
        ("ACTIVE.reach('importing')", NEVER),
        ("ACTIVE.reach('preparing')", 10),
        ("ACTIVE.reach('training')", 10),
        (
            "a, b, c = gc.get_threshold()\ngc.set_threshold(a, b, c * 2)\nACTIVE.reach('preparing')",
            10,
        ),
        ("import os\nif os.fork(): os._exit(os.wait()[1])", 10),
        ("gc.set_threshold(500)\nACTIVE.reach('preparing')", 10),
        ("gc.set_threshold(700, 10, 77)\nACTIVE.reach('preparing')", 77),
        ("ACTIVE.reach('preparing')\ngc.set_threshold(700, 10, 77)\nACTIVE.reach('training')", 77),
    ],
)
def test_a_rank_collects_fully_again_when_it_has_imported(node, then: str, third: int) -> None:
    told = node.run(f"{SAYS}{then}\nprint(*gc.get_threshold())")
    first, last = told.log.splitlines()
    assert int(first.split()[2]) == NEVER and int(last.split()[2]) == third
    assert first.split()[:2] == last.split()[:2] or "500" in then


@pytest.mark.parametrize(
    ("before", "frozen"),
    [
        ("", True),
        ("ACTIVE.reach('preparing')", False),  # from here on the script makes its model
        ("gc.set_threshold(0)", True),  # the script's own setting says nothing of what stays
    ],
)
def test_what_the_imports_made_is_not_looked_at_again(node, before: str, frozen: bool) -> None:
    told = node.run(f"{SAYS}{before}\nimport tqdm.std\nprint(gc.get_freeze_count(), len(gc.get_objects()))")
    count, left = map(int, told.log.splitlines()[-1].split())
    assert count > left if frozen else count == 0


def test_a_collector_that_is_off_freezes_nothing(threshold: tuple[int, int, int]) -> None:
    gc.disable()
    try:
        put_off, before = PutOff(), gc.get_freeze_count()
        put_off.begin()
        put_off.keep_imports()
        assert gc.get_freeze_count() == before
    finally:
        gc.enable()


def test_the_other_generations_keep_their_thresholds(threshold: tuple[int, int, int]) -> None:
    put_off = PutOff()
    put_off.begin()
    assert gc.get_threshold() == (700, 10, NEVER)
    gc.set_threshold(500, 5)
    put_off.end()
    assert gc.get_threshold() == (500, 5, 10)
    gc.set_threshold(400, 4, 40)
    put_off.look_again()
    assert gc.get_threshold() == (400, 4, 40)
    gc.set_threshold(400, 4, NEVER)  # a library puts back what it had found
    put_off.look_again()
    assert gc.get_threshold() == (400, 4, 10)


@pytest.mark.parametrize("own", [(0, 10, 10), (700, 10, 0)])
def test_a_collector_that_is_off_stays_as_it_is(own: tuple[int, int, int]) -> None:
    gc.set_threshold(*own)
    put_off = PutOff()
    put_off.begin()
    assert gc.get_threshold() == own
    gc.set_threshold(700, 10, NEVER)
    put_off.end()
    assert gc.get_threshold() == (700, 10, NEVER)


def test_a_collector_that_is_disabled_stays_as_it_is(threshold: tuple[int, int, int]) -> None:
    gc.disable()
    try:
        PutOff().begin()
        assert gc.get_threshold() == threshold
    finally:
        gc.enable()


@pytest.mark.parametrize(("passed", "third"), [(MOST_SECONDS - 60, NEVER), (MOST_SECONDS + 1, 10)])
def test_a_script_that_shows_no_progress_gets_its_threshold_back(passed: float, third: int) -> None:
    put_off = PutOff()
    put_off.begin()
    put_off.began -= passed
    put_off.look_again()
    assert gc.get_threshold() == (700, 10, third)
