"""Where TensorBoard and Weights & Biases keep what they write, and what a user's own word changes."""

from __future__ import annotations

from typing import Any

import pytest

from allranks import spec
from allranks.core import BadInput
from allranks.launch import jobs, trackers
from allranks.plan import make_plan

NODE = "nodes: [{name: a, address: 10.0.0.1}]\n"


def environment(text: str) -> dict[str, str]:
    run = spec.loads(NODE + text)
    return jobs.environment(make_plan(run, None, {}), run.cluster.head, "/out/run-1")


@pytest.mark.parametrize(
    ("arguments", "folder"),
    [
        ("report_to: tensorboard", "/out/run-1/logs"),
        ("report_to: [wandb, tensorboard]", "/out/run-1/logs"),
        ("report_to: all", "/out/run-1/logs"),
        ("report_to: tensorboard, logging_dir: /var/tb", "/var/tb"),
        ("report_to: none", None),
        ("stage: sft", None),
    ],
)
def test_tensorboards_files_lie_with_the_run_or_where_the_user_says(
    arguments: str, folder: str | None
) -> None:
    found = environment(f"train: {{llamafactory: {{{arguments}}}}}\n")
    assert found.get("TENSORBOARD_LOGGING_DIR") == folder


def test_what_the_user_sets_stands() -> None:
    env = "env: {TENSORBOARD_LOGGING_DIR: /mine, WANDB_DIR: /theirs, WANDB_MODE: offline}\n"
    found = environment(env + "train: {llamafactory: {report_to: 'tensorboard,wandb'}}\n")
    assert (found["TENSORBOARD_LOGGING_DIR"], found["WANDB_DIR"]) == ("/mine", "/theirs")
    assert found["WANDB_MODE"] == "offline"


@pytest.mark.parametrize("word", ["env: {WANDB_MODE: offline}\n", "secrets: [WANDB_API_KEY]\n"])
def test_a_script_of_ones_own_that_uses_wandb_keeps_its_files_with_the_run(word: str) -> None:
    found = environment(word + "train: {command: [x.py]}\n")
    assert found["WANDB_DIR"] == "/out/run-1" and "WANDB_API_KEY" not in found


def test_a_wandb_key_in_the_run_file_is_refused_and_not_shown() -> None:
    with pytest.raises(BadInput, match="access token") as error:
        spec.loads(NODE + f"env: {{WANDB_API_KEY: {'0f' * 20}}}\ntrain: {{command: [x.py]}}\n")
    assert "0f0f" not in str(error.value)


@pytest.mark.parametrize("value", [None, "none", "", [], "wandb", ["a", "b"], "a, b"])
def test_report_to_is_read_in_every_form(value: Any) -> None:
    expected = {None: set(), "none": {"none"}, "": set(), "wandb": {"wandb"}, "a, b": {"a", "b"}}
    assert trackers.reported_to(value) == (set(value) if isinstance(value, list) else expected[value])
