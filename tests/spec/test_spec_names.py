"""Node ranges against what SLURM 22.05's `scontrol show hostnames` printed, and the round trip."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allranks.core import BadInput
from allranks.core.text import fold
from allranks.spec import expand, slurm_list
from allranks.spec.names import MAX_NAMES
from tests.harness.cost import cost

SCONTROL = {
    "node[1-3,7]": "node1 node2 node3 node7",
    "a[01-03]b[1-2]": "a01b1 a01b2 a02b1 a02b2 a03b1 a03b2",
    "a[9-11]": "a9 a10 a11",
    "a[09-11]": "a09 a10 a11",
    "a[1-003]": "a1 a2 a3",
    "a[1,1]": "a1 a1",
    "x,y[1-2],x": "x y1 y2 x",
    "a[001-002,5]": "a001 a002 a5",
    "a[1-2][3-4]": "a13 a14 a23 a24",
    "a[2,1]": "a2 a1",
    "[1-2]": "1 2",
    "a[099-101]": "a099 a100 a101",
    "a[5-5]": "a5",
    "a, b": "a b",
    "r[1-2]c[0-1]n[1-2]": "r1c0n1 r1c0n2 r2c0n1 r2c0n2 r1c1n1 r1c1n2 r2c1n1 r2c1n2",
    "a[1-2,4]b[1-2,5]c[1-2]": "a1b1c1 a1b1c2 a2b1c1 a2b1c2 a4b1c1 a4b1c2 a1b2c1 a1b2c2 a2b2c1 a2b2c2 a4b2c1 a4b2c2 "
    "a1b5c1 a1b5c2 a2b5c1 a2b5c2 a4b5c1 a4b5c2",
    "a[1-2]b[1-2]c[1-2]d[1-2]": "a1b1c1d1 a1b1c1d2 a2b1c1d1 a2b1c1d2 a1b2c1d1 a1b2c1d2 a2b2c1d1 a2b2c1d2 "
    "a1b1c2d1 a1b1c2d2 a2b1c2d1 a2b1c2d2 a1b2c2d1 a1b2c2d2 a2b2c2d1 a2b2c2d2",
}


@pytest.mark.parametrize("text", SCONTROL)
def test_expand_prints_what_scontrol_prints(text):
    assert expand(text) == SCONTROL[text].split()


def test_text_may_follow_the_last_bracket():
    assert expand("n[1-2]-ib.lan") == ["n1-ib.lan", "n2-ib.lan"]


WRONG = {
    "": "holds an empty name",
    "a,,b": "holds an empty name",
    "a[1-2],": "holds an empty name",
    "a[": "not closed",
    "a[1-2": "not closed",
    "a]": "one bracket too many",
    "a[[1]]": "one bracket too many",
    "a[]": "[] is not a range",
    "a[1,]": "[1,] is not a range",
    "a[x-y]": "[x-y] is not a range",
    "a[1-10/2]": "is not a range",
    "a[-1]": "is not a range",
    "a[1--2]": "is not a range",
    "a[000x111]": "is not a range",
    "a[²]": "is not a range",
    "a[3-1]": "3-1 counts down",
    "a[1-99999999999999999999]": "more than 16,384 nodes",
    "a[1-200]b[1-200]": "more than 16,384 nodes",
    ",".join(["a[1-9000]"] * 2): "more than 16,384 nodes",
    f"a[{'9' * 5000}]": "is not a range",
    "a" * 300_000: "characters",
}


@pytest.mark.parametrize("text", WRONG, ids=lambda text: text[:20])
def test_wrong_ranges_are_refused(text):
    with pytest.raises(BadInput) as error:
        expand(text)
    assert WRONG[text] in error.value.problems[0].saw
    assert len(str(error.value)) < 600


def test_a_backwards_range_is_turned_round_in_the_remedy():
    with pytest.raises(BadInput) as error:
        expand("a[30-1]")
    assert error.value.problems[0].do == "[1-30]"


FOLDED = {
    "node1 node2 node3": "node[1-3]",
    "node3 node1 node2 node1": "node[1-3]",
    "n08 n09 n10 n11": "n[08-11]",
    "n9 n10 n11": "n[9-11]",
    "n1 n2 n3 n01 n02": "n[1-3,01-02]",
    "n1 n3 n5": "n[1,3,5]",
    "a1 gpu a10 a2": "a[1-2,10],gpu",
    "10.0.0.1 10.0.0.2 10.0.0.10": "10.0.0.[1-2,10]",
    "h100-node1 h100-node2": "h100-node[1-2]",
    "a01b1 a01b2 a02b1 a02b2": "a[01-02]b[1-2]",
    "a1b1 a1b2 a2b1": "a1b[1-2],a2b1",
    "x": "x",
    "": "",
}


@pytest.mark.parametrize("names", FOLDED)
def test_fold_prints_ranges(names):
    assert fold(names.split()) == FOLDED[names]


def test_fold_keeps_the_order_where_rank_order_matters():
    assert fold(["n7", "n1", "n2", "head", "n2"], keep_order=True) == "n[7,1-2],head,n2"


NAMES = st.lists(
    st.from_regex(r"[a-z]{0,2}[0-9]{0,3}[a-c-]?[0-9]{0,2}[a-z]", fullmatch=True), min_size=1, max_size=30
)


@given(NAMES)
@settings(max_examples=60)
def test_expand_undoes_fold(names):
    again = expand(fold(names))
    assert sorted(again) == sorted(set(names))


@given(NAMES)
@settings(max_examples=60)
def test_expand_undoes_fold_in_order(names):
    assert expand(fold(names, keep_order=True)) == names


@given(st.integers(1, 300), st.integers(0, 4), st.permutations(range(10)))
def test_a_contiguous_series_folds_to_one_range(count, width, order):
    names = [f"node{n:0{width}d}" for n in range(1, count + 1)]
    shuffled = [names[i] for i in order if i < count] + names
    assert fold(shuffled) == (names[0] if count == 1 else f"node[{names[0][4:]}-{names[-1][4:]}]")


@given(st.lists(st.text(max_size=12), max_size=12))
def test_fold_takes_any_text(names):
    assert isinstance(fold(names), str)
    assert isinstance(fold(names, keep_order=True), str)


@given(st.text(alphabet="ab0123456789[],-@ \x00é", max_size=40))
def test_expand_of_garbage_ends_in_names_or_bad_input(text):
    try:
        names = expand(text)
    except BadInput:
        return
    assert 0 < len(names) <= MAX_NAMES


def test_ten_thousand_names_fold_quickly():
    names = [f"rack{r}n{n:02d}" for r in range(100) for n in range(1, 101)]
    assert fold(names) == "rack[0-99]n[01-100]"
    assert cost(lambda: fold(names), enough=1) < 1


def test_a_list_for_slurm_joins_numbers_of_different_length_but_not_of_different_width():
    assert slurm_list(["a9", "a10", "a11"]) == "a[9-11]"
    assert slurm_list(["a09", "a10"]) == "a09,a10"


@pytest.mark.parametrize("length", [40, 41])
def test_how_long_a_number_in_brackets_may_be(length):
    text = f"a[{'0' * (length - 1)}7]"
    if length > 40:
        with pytest.raises(BadInput, match="is not a range"):
            expand(text)
    else:
        assert expand(text) == [f"a{'0' * (length - 1)}7"]
