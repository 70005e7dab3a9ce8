"""What the script checks read in Python source, and versions that a container pins."""

from __future__ import annotations

import ast
from types import SimpleNamespace

import pytest

from allranks.checks.lint import run_settings, variables
from allranks.checks.lint.arguments import GONE, near
from allranks.checks.scripts import asks_rank


@pytest.mark.parametrize(
    ("condition", "asks"),
    [
        ("rank == 0", True),
        ("dist.get_rank() == 0", True),
        ("get_rank()", True),
        ("accelerator.is_main_process", True),
        ("is_main_process()", True),
        ("trainer.is_world_process_zero", True),
        ("step % 100 == 0", False),
        ("os.path.exists(path)", False),
        ("ranking == 0", False),
    ],
)
def test_a_condition_about_the_rank_is_known(condition: str, asks: bool) -> None:
    assert asks_rank(ast.parse(condition, mode="eval")) is asks


def pinned(*pip: str) -> SimpleNamespace:
    return SimpleNamespace(run=SimpleNamespace(container=SimpleNamespace(pip=pip)), machines=())


def test_a_containers_pin_is_the_version_and_nothing_else_of_it_is() -> None:
    assert run_settings.version(pinned("torch==2.9.1", "transformers == 4.52.4"), "transformers") == (
        4,
        52,
        4,
    )
    assert run_settings.version(pinned("torch==2.9.1"), "transformers") is None
    assert run_settings.version(pinned("transformers>=5"), "transformers") is None


def test_what_nobody_could_look_up_is_said_to_be_unknown() -> None:
    assert "no node has libraries" in variables.line("NCCL_SOMETHING", "1").why
    assert variables.line("NCCL_SOMETHING", "1", held={"NCCL_SOMETHING"}).why == "handed on to the ranks"
    assert variables.line("MY_OWN", "1").why == "handed on to the ranks"
    assert variables.line("MY_OWN", "1", held={"NCCL_DEBUG"}).why == "handed on to the ranks"


def test_an_argument_that_is_gone_has_its_own_remedy() -> None:
    assert near("no_cuda", ["use_cpu"]) == GONE["no_cuda"][2] == "use_cpu: true"
    assert near("learnign_rate", ["learning_rate"]) == "learning_rate, which it knows"
