"""`{output}` and `{resume}` in a script's arguments."""

from __future__ import annotations

import pytest

from allranks.core.placeholders import resumes, with_output, with_resume


@pytest.mark.parametrize(
    ("words", "filled", "without"),
    [
        (["a.py", "--resume", "{resume}", "--x"], ["a.py", "--resume", "/c/1", "--x"], ["a.py", "--x"]),
        (["a.py", "--resume={resume}"], ["a.py", "--resume=/c/1"], ["a.py"]),
        (["a.py", "ckpt.path={resume}/model", "y"], ["a.py", "ckpt.path=/c/1/model", "y"], ["a.py", "y"]),
        (["a.py", "{resume}"], ["a.py", "/c/1"], ["a.py"]),
        (["a.py", "--lr=1", "{resume}"], ["a.py", "--lr=1", "/c/1"], ["a.py", "--lr=1"]),
        (["a.py", '{"json": 1}'], ["a.py", '{"json": 1}'], ["a.py", '{"json": 1}']),
    ],
)
def test_resume_is_filled_in_or_left_out_with_its_option(words, filled, without) -> None:
    assert with_resume(words, "/c/1") == filled
    assert with_resume(words, None) == without


def test_output_is_the_runs_folder() -> None:
    assert with_output(["--out", "{output}", "--log={output}/log"], "/o") == ["--out", "/o", "--log=/o/log"]


def test_who_resumes() -> None:
    assert resumes(["--from={resume}"]) and not resumes(["--from", "{output}"])
