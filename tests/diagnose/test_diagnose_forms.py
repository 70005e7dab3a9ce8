"""One failure in the forms of many tools: the cause, the rank and the machine do not depend on the wrapping."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allranks.diagnose import diagnose, parse
from tests.diagnose.forms import FORMS, HOSTS, WITHOUT_NODES, Story, machine

FAILURES = {
    "rank-crashed-first": "KeyError: 'labels'",
    "cuda-oom": "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
    "missing-python-module": "ModuleNotFoundError: No module named 'flash_attn'",
}


def read(name, story):
    return diagnose(itertools.chain(*(parse(text, source) for text, source in FORMS[name](story))))


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("cause", FAILURES)
def test_the_same_failure_in_every_form(name, cause):
    found = read(name, Story(error=FAILURES[cause]))
    assert (found.cause, found.confidence, found.where.rank) == (cause, "certain", 6)
    assert {where.rank for where in found.collateral} == {0, 1, 2, 3, 4, 5, 7}


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(FORMS)), st.integers(0, 7), st.sampled_from(sorted(FAILURES)))
def test_whoever_fails_in_whatever_form_is_named(name, culprit, cause):
    found = read(name, Story(culprit, FAILURES[cause]))
    assert (found.cause, found.where.rank) == (cause, culprit)


@pytest.mark.parametrize("name", sorted(set(FORMS) - WITHOUT_NODES))
@pytest.mark.parametrize("culprit", [1, 6])
def test_a_form_that_says_the_machine(name, culprit):
    """Also where two machines' names differ in their first letters alone."""
    found = read(name, Story(culprit))
    node = found.where.node or ""
    named = machine(name, HOSTS[culprit // 4])
    assert node == named or (name == "CloudWatch" and node.startswith(named))


@pytest.mark.parametrize("name", sorted(WITHOUT_NODES))
def test_a_form_that_says_no_machine_has_none_made_up(name):
    assert read(name, Story()).where.node is None


def test_enough_forms():
    assert len(FORMS) >= 60


def test_a_local_rank_of_one_of_several_launches_is_no_rank():
    """torchrun's folders of two machines, without the table and without torch's prefix: no rank is made up."""
    crash = "Traceback (most recent call last):\nKeyError: 'labels'\n"
    lost = "Traceback (most recent call last):\nRuntimeError: [gloo/pair.cc:561] Connection closed by peer\n"
    files = [(lost, "a/x/attempt_0/2/stderr.log"), (crash, "b/y/attempt_0/2/stderr.log")]
    found = diagnose(itertools.chain(*(parse(text, source) for text, source in files)))
    assert (found.cause, found.where.rank) == ("rank-crashed-first", None)
    assert found.where.file == "b/y/attempt_0/2/stderr.log"


def test_a_local_rank_is_known_by_any_line_that_says_both():
    crash = "h1: [default2]:[rank6]: hello\nh1: [default2]:Traceback (most recent call last):\n"
    crash += "h1: [default2]:KeyError: 1\n"
    assert diagnose(parse("h0: [default2]:[rank2]: hello\n" + crash)).where.rank == 6
