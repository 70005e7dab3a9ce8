"""LLaMA-Factory's YAML: what the user wrote arrives as written, and other values the same in every reader."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from allranks.plan import trainer
from allranks.plan.setting import setting_of
from allranks.spec import Typed, load_typed, loads, trainer_yaml
from allranks.spec.problems import Problems
from allranks.spec.tree import plain
from allranks.spec.yaml12 import parse

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**90), 10**90)
    | st.floats(allow_nan=False)
    | st.text(st.characters(codec="utf-8", exclude_characters="\0")),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("a-z no1:", min_size=1), inner, max_size=3)
    ),
    max_leaves=4,
)


@settings(max_examples=60, deadline=None)
@given(VALUES)
def test_a_value_is_the_same_to_yaml_1_1_and_to_1_2(value) -> None:
    text = f"key: {trainer_yaml.text(value)}\n"
    assert text.isascii() and text.count("\n") == 1
    assert yaml.safe_load(text) == {"key": value}
    tree = parse(text, "x.yaml", Problems())
    assert tree is not None and plain(tree) == {"key": value}


@pytest.mark.parametrize(
    "value", ["no", "1e-5", "010", "1_000", "12:30:00", "2024-01-01", "~", "=", "a: b", "- x", "#"]
)
def test_a_text_stays_a_text(value: str) -> None:
    assert yaml.safe_load(trainer_yaml.text(value)) == value


OWN = "learning_rate: 1e-5\nbf16: no\nlora_rank: 010\nsave_only_model:\ndataset: [a b, 'no']\n"


def test_a_llamafactory_yaml_is_handed_on_as_it_was_written(tmp_path) -> None:
    (tmp_path / "sft.yaml").write_text(OWN)
    run = loads(f"nodes: localhost\ntrain: {{llamafactory: {tmp_path}/sft.yaml}}\n")
    text = trainer.file_text(run, run.train.arguments)
    assert (
        text
        == 'learning_rate: 1e-5\nbf16: no\nlora_rank: 010\nsave_only_model: null\ndataset: ["a b", "no"]\n'
    )
    changed = trainer.file_text(run, {**run.train.arguments, "learning_rate": 2e-5})
    assert changed.startswith("learning_rate: 2.0e-05\n")


def test_a_run_files_own_arguments_keep_the_numbers_of_yaml_1_2() -> None:
    run = loads("nodes: localhost\ntrain: {llamafactory: {learning_rate: 1e-5, bf16: no, lora_rank: 010}}\n")
    assert yaml.safe_load(trainer.file_text(run, run.train.arguments)) == {
        "learning_rate": 1e-5,
        "bf16": False,
        "lora_rank": 10,
    }


@pytest.mark.parametrize("word", ["no", "No", "NO", "off", "n", "false", "False", "'no'", "0", ""])
@pytest.mark.parametrize("name", ["use_cpu", "no_cuda", "use_dora", "bf16", "packing"])
def test_a_switch_that_is_off_for_llamafactory_is_off(word: str, name: str) -> None:
    """YAML 1.2 knows `true` and `false` alone; LLaMA-Factory reads its file by YAML 1.1."""
    run = loads(f"nodes: localhost\ntrain: {{llamafactory: {{stage: sft, {name}: {word}}}}}\n")
    read = setting_of(run)
    assert not run.on_cpu and read.lora and not read.lora.dora
    assert read.precision == "fp32" and not read.packs


@pytest.mark.parametrize("word", ["true", "yes", "on", "1"])
def test_a_switch_that_is_on_for_llamafactory_is_on(word: str) -> None:
    run = loads(f"nodes: localhost\ntrain: {{llamafactory: {{stage: sft, use_cpu: {word}}}}}\n")
    assert run.on_cpu


@pytest.mark.parametrize(
    ("line", "as_words"),
    [
        ("llamafactory-cli train --stage sft --do_train --dataset d", True),
        ("torchrun src/train.py --stage sft --template x --dataset d", True),
        ("llamafactory-cli train sft.yaml max_steps=3", False),
    ],
)
def test_a_command_lines_arguments_stay_words(tmp_path, monkeypatch, line: str, as_words: bool) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sft.yaml").write_text("stage: sft\ndataset: d\nmax_steps: 9\n")
    run = load_typed(Typed(words=tuple(line.split()), nodes="localhost"))
    words, files = trainer.started(run, {**run.train.arguments, "output_dir": "\0here\0/o"}, "/f")
    assert run.train.as_words is as_words
    if as_words:
        assert not files and "--dataset=d" in words
    else:
        assert words == ["/f/arguments.yaml", "output_dir=\0here\0/o"]
        assert yaml.safe_load(files["arguments.yaml"])["max_steps"] == 3
