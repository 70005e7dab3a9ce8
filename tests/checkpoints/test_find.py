"""Which folders are checkpoints, which is the newest, and which is the newest that is whole."""

from __future__ import annotations

import os

from allranks import checkpoints


def names(paths, root):
    return [os.path.relpath(path, root) for path in paths]


def test_newest_first_by_number_and_not_by_letters(make, run_folder):
    for step in (9, 100, 20):
        make(step)
    (run_folder / "checkpoint-x").mkdir()
    (run_folder / "checkpoint-7").write_text("a file")
    (run_folder / "checkpoint-300").symlink_to("checkpoint-9")

    assert names(checkpoints.find(str(run_folder)), run_folder) == [
        "checkpoint-100",
        "checkpoint-20",
        "checkpoint-9",
    ]


def test_the_final_adapter_stands_where_its_step_puts_it(make, run_folder):
    make(10), make(20)
    make(None, final=20)
    assert names(checkpoints.find(str(run_folder)), run_folder) == [".", "checkpoint-20", "checkpoint-10"]

    make(30)
    assert names(checkpoints.find(str(run_folder)), run_folder)[:2] == ["checkpoint-30", "."]


def test_a_final_adapter_without_a_step_is_placed_by_its_time(make, run_folder):
    old = make(10)
    os.utime(old.weights, (1000, 1000))
    new = make(20)
    os.utime(new.weights, (3000, 3000))
    final = make(None, final=20)
    (run_folder / "trainer_state.json").unlink()
    os.utime(final.weights, (2000, 2000))

    assert names(checkpoints.find(str(run_folder)), run_folder) == ["checkpoint-20", ".", "checkpoint-10"]


def test_newest_verified_passes_over_what_is_damaged(make, run_folder):
    make(10), make(20)
    broken = make(30)
    broken.weights.write_bytes(broken.weights.read_bytes()[:-1])

    report = checkpoints.newest_verified(str(run_folder), {"rank": 4, "step": 30})

    assert report is not None
    assert (report.path, report.step, report.whole) == (str(run_folder / "checkpoint-20"), 20, True)
    assert checkpoints.newest_verified(str(run_folder), {"rank": 8}) is None
    assert checkpoints.newest_verified(str(run_folder / "nowhere")) is None
