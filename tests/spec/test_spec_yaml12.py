"""YAML 1.2 values, the line of everything, and texts that are meant to hurt."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allranks.core import BadInput
from allranks.spec import loads
from allranks.spec.problems import Problems
from allranks.spec.start import quoted
from allranks.spec.tree import Scalar, Table, plain, scalar_value, walk
from allranks.spec.yaml12 import MAX_DEPTH, parse
from tests.harness.cost import cost

VALUES = {
    "1e-5": 1e-5,
    "1E5": 1e5,
    "1.": 1.0,
    ".5": 0.5,
    "-.5e+3": -500.0,
    "+7": 7,
    "007": 7,
    "-0": 0,
    "0o17": 15,
    "0x1F": 31,
    "true": True,
    "True": True,
    "FALSE": False,
    "null": None,
    "~": None,
    ".inf": math.inf,
    "-.INF": -math.inf,
    # what YAML 1.1 reads otherwise, and is a string in YAML 1.2
    "no": "no",
    "on": "on",
    "Yes": "Yes",
    "y": "y",
    "24:00:00": "24:00:00",
    "1_000": "1_000",
    "0b11": "0b11",
    "2024-01-01": "2024-01-01",
    "0o18": "0o18",
    "-0x1F": "-0x1F",
    "1e": "1e",
    ".": ".",
    "-": "-",
    "=": "=",
    "nUll": "nUll",
    "１": "１",
}


@pytest.mark.parametrize("text", VALUES)
def test_scalars_follow_the_core_schema(text):
    value = scalar_value(text)
    assert (type(value), value) == (type(VALUES[text]), VALUES[text])


def test_not_a_number():
    assert math.isnan(scalar_value(".nan"))


def tree_of(text):
    problems = Problems()
    tree = parse(text, "f", problems)
    assert not problems.found
    return tree


def test_quotes_and_tags_decide():
    text = "a: '1'\nb: \"no\"\nc: !!str 1\nd: !!int 7\ne: ! 1\nf: |\n  1\n"
    assert plain(tree_of(text)) == {"a": "1", "b": "no", "c": "1", "d": 7, "e": "1", "f": "1\n"}


def test_the_text_as_written_is_kept():
    tree = tree_of("a: 0123\nb: 1.10\n")
    assert [entry.node.raw for entry in tree.entries.values()] == ["0123", "1.10"]


def test_every_key_and_item_has_its_line():
    tree = tree_of("# one\na: 1\nb:\n  c: {d: 2}\n  e:\n    - 3\n    -\n      f: 4\n")
    lines = {path: line for path, _, line, _ in walk(tree)}
    assert lines == {"a": 2, "b": 3, "b.c": 4, "b.c.d": 4, "b.e": 5, "b.e.0": 6, "b.e.1": 8, "b.e.1.f": 8}


def test_a_key_given_twice_is_a_problem_with_both_lines():
    problems = Problems()
    tree = parse("a: 1\nb: {c: 1, c: 2}\na: 3\n", "f", problems)
    assert plain(tree) == {"a": 1, "b": {"c": 1}}
    assert [str(p).split("\n")[0] for p in problems.all()] == [
        "f:2  c: given twice, first in line 2.",
        "f:3  a: given twice, first in line 1.",
    ]


def test_aliases_and_merge_keys():
    text = "x: &base {a: 1, b: 2}\ny: &other {c: 3, a: 9}\nz: {<<: [*base, *other], b: 5}\nw: *base\nq: {'<<': 1}\n"
    tree = plain(tree_of(text))
    assert tree["z"] == {"b": 5, "a": 1, "c": 3}
    assert tree["w"] == {"a": 1, "b": 2}
    assert tree["q"] == {"<<": 1}


REFUSED = {
    "a: &a [1, *a]": (1, "*a names nothing.", "it would contain itself."),
    "b: 1\na: *nobody": (2, "*nobody names nothing.", "there is no &anchor of that name above it."),
    "a: {<<: 1}": (1, "<<: the merged value is not a mapping.", "it has no keys."),
    "? [a]\n: 1": (1, "a list or a mapping is used as a key.", "keys are names."),
    "'': 1": (1, "a key without a name.", "its value would belong to nothing."),
    "a: 1\n---\nb: 1": (2, "a second document begins here.", "one would be lost."),
    "a: !!python/name:os.system x": (
        1,
        "the tag tag:yaml.org,2002:python/name:os.system.",
        "a run file holds plain values alone.",
    ),
    "a: !!binary aGk=": (1, "the tag tag:yaml.org,2002:binary.", "a run file holds plain values alone."),
    "a: !!int x": (1, "x is not of the type int.", "its tag says so."),
    'a: "\\0"': (1, "a NUL or half a surrogate pair.", "no program takes it."),
    "a: " + "9" * 101: (1, "a number of 101 characters.", ""),
    "[" * 33 + "]" * 33: (1, "more than 32 levels inside each other.", "no run file is that deep."),
    "a:\n\tb: 1": (2, "not YAML: found a tab character.", "there is a tab where YAML wants spaces."),
    "a: 1\n\tb: 1": (2, None, "there is a tab where YAML wants spaces."),
    "a: 1\nb: 'x\nc: 1": (
        2,
        "not YAML: found unexpected end of stream.",
        "a quote is opened and never closed.",
    ),
    "a: b: c": (
        1,
        None,
        "a second `: ` is in this line, or the indentation of this line does not match.",
    ),
    "nodes: [node[1-2]]": (
        1,
        None,
        "a list in [ ] is not closed, or an item holds a bracket without quotes.",
    ),
    "a: {b: c[1]}": (
        1,
        None,
        "a mapping in { } is not closed, or a value holds a bracket or comma without quotes.",
    ),
    "a: @b": (1, None, "@, ` and % cannot begin a value without quotes."),
    'a: "\\q"': (1, None, 'in "double quotes" a backslash begins an escape.'),
    "a: 1\nb: \x07": (2, None, ""),
    "a: \ud800": (None, "a half of a surrogate pair, which is not a character.", ""),
}


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: repr(text[:24]))
def test_what_is_no_yaml_for_us(text):
    with pytest.raises(BadInput) as error:
        parse(text, "f", Problems())
    (problem,) = error.value.problems
    line, saw, why = REFUSED[text]
    assert problem.line == line
    assert problem.why == why
    assert saw is None or problem.saw == saw
    assert "\n" not in problem.saw


def bomb() -> str:
    lines = ["a0: &a0 [" + ", ".join(["x"] * 9) + "]"]
    lines += [f"a{n}: &a{n} [" + ", ".join([f"*a{n - 1}"] * 9) + "]" for n in range(1, 12)]
    return "\n".join(lines)


HURTING = {
    "an alias bomb": bomb(),
    "a bomb of merges": "a: &a {" + ", ".join(f"k{n}: 1" for n in range(900)) + "}\n"
    "b: {<<: [" + ", ".join(["*a"] * 900) + "]}",
    "a chain of aliases": "a0: &a0 [x]\n" + "\n".join(f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 9000)),
    "brackets": "[" * 1_000_000,
    "braces": "{a: " * 200_000,
    "dashes": "- " * 500_000,
    "question marks": "? " * 500_000,
    "indentation": "\n".join(" " * n + "a:" for n in range(1400)),
    "a megabyte of items": "[" + "1," * 500_000 + "]",
    "a megabyte of keys": "\n".join(f"k{n}:" for n in range(130_000)),
    "one long number": "a: " + "1" * 1_000_000,
    "one long word": "nodes: " + "a" * 1_000_000,
    "one long key": "a" * 900_000 + ": 1",
    "many anchors": "\n".join(f"- &a{n} x" for n in range(80_000)),
    "many strange keys": "\n".join(f"nod{n}: x" for n in range(60_000)),
    "many nodes": "train: {command: a.py}\nnodes:\n" + "- {name: -}\n" * 60_000,
}


@pytest.mark.lengthy
@pytest.mark.parametrize("what", HURTING)
def test_what_hurts_ends_quickly(what):
    def refused():
        with pytest.raises(BadInput) as error:
            loads(HURTING[what])
        assert len(error.value.problems) <= 101
        assert len(str(error.value)) < 100_000

    assert cost(refused, enough=2) < 2


def test_deep_nesting_without_libyaml(monkeypatch):
    import yaml

    monkeypatch.delattr(yaml, "CSafeLoader", raising=False)
    for text in ("[" * 5000, "- " * 5000, "{a: " * 5000):
        with pytest.raises(BadInput, match="more than 32 levels"):
            parse(text, "f", Problems())
    assert plain(parse("a: {b: 1e-5}\nc: '1'", "f", Problems())) == {"a": {"b": 1e-5}, "c": "1"}


@given(st.text(max_size=200))
@settings(max_examples=150)
def test_any_text_is_a_tree_or_bad_input(text):
    try:
        tree = parse(text, "f", Problems())
    except BadInput as error:
        assert error.problems
        return
    assert tree is None or isinstance(tree.line, int)


@given(st.text(alphabet="ab:-[]{}&*!|>'\"#%@`?, \n\t<0.e\\x\x85\u2028", max_size=60))
@settings(max_examples=150)
def test_yaml_like_text_is_a_tree_or_bad_input(text):
    try:
        parse(text, "f", Problems())
    except BadInput as error:
        assert all(len(str(problem)) < 1000 for problem in error.problems)


@given(st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\0"), max_size=60))
@settings(max_examples=100)
def test_a_quoted_string_reads_back_as_itself(text):
    tree = parse(f"a: {{b: {quoted(text)}}}", "f", Problems())
    assert isinstance(tree, Table)
    assert plain(tree) == {"a": {"b": text}}


def test_a_value_from_the_command_line_has_no_line():
    tree = parse("{a: 1}", "--set x", Problems(), fixed_place=True)
    assert isinstance(tree, Table)
    assert (tree.line, tree.entries["a"].line) == (None, None)
    assert isinstance(tree.entries["a"].node, Scalar)


@pytest.mark.parametrize(("before", "after"), [("{a: ", "}"), ("[", "]")])
def test_as_many_levels_as_are_said_fit_inside_each_other(before, after):
    def refused(levels):
        problems = Problems()
        try:
            parse(before * (levels - 1) + "1" + after * (levels - 1), "r.yaml", problems)
        except BadInput:
            return True
        return bool(problems.found)

    assert not refused(MAX_DEPTH) and refused(MAX_DEPTH + 1)
