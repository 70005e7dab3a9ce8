"""What nodes' own libraries said of a configuration: whose answer counts, and what it turns into a note."""

from __future__ import annotations

import dataclasses

import pytest

from allranks.core import BLOCK, NOTE, Facts
from allranks.plan import library_trial, make_plan
from tests.plan.test_deepspeed import a_run

JSON = {
    "train_micro_batch_size_per_gpu": 4,
    "communication_data_type": "int9",
    "zero_optimization": {"stage": 3, "no_such_key": 1},
    "prescale_gradients": True,
}


def facts(run, answer, about=None, node="n0"):
    told = {"digest": about or library_trial.digest(run, JSON), "answer": answer}
    return Facts(node, 1.0, {"imports": {"configuration": told}})


def verdicts(run, *said):
    plan = make_plan(run, None, {one.node: one for one in said}, deepspeed=JSON)
    return {
        (f.id, f.saw.partition(": ")[2].partition(":")[0]): f.verdict
        for f in plan.findings
        if "deepspeed" in f.id
    }


CONTRADICTS = (
    "deepspeed-contradicts",
    "train_micro_batch_size_per_gpu 4 against per_device_train_batch_size 1",
)
VALUE = ("deepspeed-refuses", "communication_data_type")
LATER = ("deepspeed-refuses", "prescale_gradients")


def test_what_the_libraries_accept_stops_nothing_but_what_they_refuse_later():
    run = a_run("/ds.json")
    asked = verdicts(run, facts(run, {"refused": False}))
    assert asked[CONTRADICTS] == asked[VALUE] == NOTE
    assert asked[LATER] == BLOCK, "only deepspeed.initialize looks at it, with the model"


@pytest.mark.parametrize(
    "answers",
    [
        [],
        [{"refused": True, "said": "no"}],
        [{"unknown": "it took too long"}],
        [{"refused": False}, {"refused": True, "said": "no"}],
        [{"refused": "no"}],
    ],
)
def test_otherwise_our_own_tables_decide(answers):
    run = a_run("/ds.json")
    said = [facts(run, answer, node=f"n{number}") for number, answer in enumerate(answers)]
    assert verdicts(run, *said)[CONTRADICTS] == BLOCK


def test_an_answer_about_another_configuration_does_not_count():
    run = a_run("/ds.json")
    other = a_run("/ds.json", {"learning_rate": 3e-4})
    assert (
        verdicts(run, facts(run, {"refused": False}, library_trial.digest(other, JSON)))[CONTRADICTS] == BLOCK
    )
    assert library_trial.answer_of(run, JSON, facts(other, {"refused": False})) is None


def test_a_profiles_sizes_may_follow_what_the_nodes_said():
    run = a_run("auto")
    assert library_trial.digest(
        run, {"zero_optimization": {"reduce_bucket_size": 1}}
    ) == library_trial.digest(run, None)
    assert library_trial.digest(run, None) != library_trial.digest(a_run("zero3"), None)


def test_the_hosts_libraries_say_nothing_of_an_image():
    from allranks.spec import Container

    run = a_run("/ds.json")
    inside = dataclasses.replace(run, container=Container(engine="docker", image="image"))
    assert library_trial.accepted(run, JSON, [facts(run, {"refused": False})])
    assert not library_trial.accepted(inside, JSON, [facts(inside, {"refused": False})])
