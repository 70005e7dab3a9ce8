"""The JSON schema of a run file takes what the reader takes, and refuses what has the wrong shape."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from allranks import cli
from allranks.core import BadInput
from allranks.spec import json_schema, loads
from allranks.spec.problems import Problems
from allranks.spec.reading import Reading
from allranks.spec.sets import apply_sets
from allranks.spec.tree import Table, plain
from allranks.spec.yaml12 import parse
from tests.spec.test_spec_messages import CASES, GOOD, PATHS, VALUES, WHOLE, as_yaml

ROOT = Path(__file__).parents[2]
FILES = [*ROOT.glob("examples/*.yaml"), *ROOT.glob("tests/recorded/*/run.yaml")]
SHAPE = re.compile(
    r"unknown key\.$|is not a (mapping|list( of values)?)\.$|this is a (list|mapping)\.$|has no value\.$"
    r"|neither true nor false|: missing\.$|neither llamafactory nor command|both llamafactory and command"
    r"|is not a (number of|port)"
    r"|values are not all single"
)
"""What is said of a value of the wrong kind, out of its range, or of a key that there is not."""


@cache
def validator() -> Any:
    from jsonschema import Draft202012Validator

    Draft202012Validator.check_schema(json_schema())
    return Draft202012Validator(json_schema())


def values_of(text: str, sets: tuple[str, ...] = ()) -> Any:
    """What an editor sees: the values as YAML 1.2 reads them."""
    problems = Problems()
    tree = parse(text, "r.yaml", problems)
    assert isinstance(tree, Table)
    apply_sets(tree, list(sets), Reading("r.yaml", problems))
    return plain(tree)


def refused(text: str, sets: tuple[str, ...] = ()) -> list[str]:
    """What the reader says; nothing if it takes the run file."""
    try:
        loads(text, "r.yaml", sets)
    except BadInput as error:
        return [problem.saw for problem in error.problems]
    return []


def test_the_verb_prints_it(capsys):
    assert cli.main(["schema"]) == 0
    assert json.loads(capsys.readouterr().out) == json_schema()


@pytest.mark.parametrize("file", FILES, ids=lambda path: "/".join(path.parts[-2:]))
def test_every_run_file_here_is_valid(file):
    assert len(FILES) > 9
    assert not list(validator().iter_errors(values_of(file.read_text(encoding="utf-8"))))


@pytest.mark.parametrize("text", [*(GOOD + added for added in CASES), *WHOLE], ids=lambda text: text[-30:])
def test_what_is_refused_for_its_shape_is_invalid(text):
    if any(SHAPE.search(saw) for saw in refused(text)):
        assert not validator().is_valid(values_of(text))


def test_enough_of_the_refused_ones_are_refused_for_their_shape():
    texts = [*(GOOD + added for added in CASES), *WHOLE]
    assert sum(any(map(SHAPE.search, refused(text))) for text in texts) >= 20


NODES = {
    "node[1-2]": True,
    "localhost": True,
    "[a, bob@b, {name: c, gpus: 4}, {address: 10.0.0.1}]": True,
    "{name: a, address: 10.0.0.1, labels: {rack: 1}, env: {A: 1}}": True,
    "{a: 10.0.0.1, b: , c: {address: 10.0.0.2, gpus: 4}}": True,
    "[]": False,
    "{}": False,
    "true": True,
    "[[a]]": False,
    "[{name: a, gpu: 4}]": False,
    "[{gpus: 4}]": False,
    "{gpus: 4}": False,
    "{name: a, gpus: 0}": False,
    "{a: {name: b}}": False,
    "{a: [10.0.0.1]}": False,
}


@pytest.mark.parametrize("form", NODES)
def test_the_forms_of_nodes(form):
    text = f"nodes: {form}\ntrain: {{command: [a.py]}}\n"
    assert (not refused(text), validator().is_valid(values_of(text))) == (NODES[form], NODES[form])


@given(st.dictionaries(st.sampled_from(PATHS), VALUES, max_size=3))
@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_the_schema_and_the_reader_agree(values):
    assume(".0" not in json.dumps(values))  # 8.0 is an integer in JSON Schema, and not in YAML
    sets = tuple(f"{path}={as_yaml(value)}" for path, value in values.items())
    saws = refused(GOOD, sets)
    errors = [
        f"{error.json_path}: {error.message}" for error in validator().iter_errors(values_of(GOOD, sets))
    ]
    assert saws or not errors, errors
    assert errors or not any(SHAPE.search(saw) for saw in saws), saws


def test_a_word_of_a_command_may_be_null():
    text = "nodes: [a]\ntrain: {command: [a.py, --seed, null]}\n"
    assert loads(text, "r.yaml", ()).train.command == ("a.py", "--seed", "null")
    assert validator().is_valid(values_of(text))


def test_a_named_node_takes_an_address_and_no_second_name():
    base = {"train": {"command": "train.py"}}
    assert validator().is_valid({**base, "nodes": {"node1": {"address": "10.0.0.1", "port": 2222}}})
    assert not validator().is_valid({**base, "nodes": {"node1": {"name": "other"}, "node2": None}})
