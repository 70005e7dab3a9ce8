"""What nobody has read is not taken for the newest: an image that pins nothing is planned for both kinds."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from allranks import spec
from allranks.cli import main
from allranks.cli.verbs.check import recorded
from allranks.core import BLOCK, NOTE, UNKNOWN, WARN, Facts, Finding
from allranks.plan import make_plan
from allranks.plan.unknown_model import agreed
from allranks.runs.inspection import as_inside, judge
from allranks.spec import Container, Environment
from tests.plan.published import V3
from tests.plan.test_budget import found, seeds_run, with_memory

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "deepseek-v3-24xa100.yaml"
IMAGE = Container("docker", "hiyouga/llamafactory:0.9.3")
OWN = Environment(python="/opt/env/bin/python")


def with_versions(**versions: str) -> dict[str, Facts]:
    facts = with_memory(2 * 2**40, 4)
    return {
        name: replace(one, values={**one.values, "software": {"versions": versions}})
        for name, one in facts.items()
    }


def test_an_image_that_nobody_looked_into_does_not_block_for_its_versions() -> None:
    plan = make_plan(seeds_run(4, container=IMAGE), V3, with_memory(2 * 2**40, 4))
    short, deepspeed = found(plan, "host-memory-short"), found(plan, "deepspeed-version")
    assert (short.verdict, deepspeed.verdict) == (WARN, WARN)
    assert short.saw.startswith("if the image has transformers 5 or later: a node needs")
    assert "transformers==4.52.4" in short.fix
    assert not [f for f in plan.findings if f.stops_launch], "the look from inside comes before the launch"


def test_a_plan_that_asks_nobody_says_that_it_cannot_tell() -> None:
    plan = make_plan(seeds_run(4, container=IMAGE), V3)
    assert found(plan, "deepspeed-version").verdict == UNKNOWN
    assert "the image" in found(plan, "deepspeed-version").saw
    assert found(plan, "host-memory-loading").saw.startswith("if the image has transformers 5 or later: ")


def test_a_model_that_only_the_image_may_hold_is_left_to_the_look_from_inside() -> None:
    run, facts = seeds_run(4, container=IMAGE), with_memory(2 * 2**40, 4)
    in_image = replace(run.train, arguments={**run.train.arguments, "model_name_or_path": "/in/the/image"})
    run = replace(run, train=in_image)
    assert found(make_plan(run, None, facts), "model-config-unreadable").verdict == WARN
    assert found(make_plan(run, None), "model-config-unreadable").verdict == UNKNOWN
    inside = as_inside(run, {"node-0": "/opt/env/bin/python"})
    assert found(make_plan(inside, None, facts), "model-config-unreadable").verdict == UNKNOWN


def test_a_model_of_the_hub_that_nobody_could_read_is_unknown_in_a_container_too() -> None:
    run, facts = seeds_run(4, container=IMAGE), with_memory(2 * 2**40, 4)
    of_hub = replace(run.train, arguments={**run.train.arguments, "model_name_or_path": "org/name"})
    run = replace(run, train=of_hub)
    assert found(make_plan(run, None, facts), "model-config-unreadable").verdict == UNKNOWN


def test_the_host_does_not_speak_for_the_image_and_the_look_from_inside_decides() -> None:
    facts = with_versions(transformers="5.6.0", deepspeed="0.19.8")
    run = seeds_run(4, container=IMAGE)
    assert found(make_plan(run, V3, facts), "host-memory-short").verdict == WARN
    inside = as_inside(run, {"node-0": "/opt/env/bin/python"})
    assert found(make_plan(inside, V3, facts), "host-memory-short").verdict == BLOCK
    older = with_versions(transformers="4.52.4", deepspeed="0.18.9")
    assert found(make_plan(inside, V3, older), "host-memory-short") is None


def test_an_environment_whose_version_was_not_read_is_unknown_not_the_newest() -> None:
    facts = with_memory(2 * 2**40, 4)
    for environment in (OWN, Environment()):
        plan = make_plan(seeds_run(4, container=None, environment=environment), V3, facts)
        short = found(plan, "host-memory-short")
        assert short.verdict == UNKNOWN and "the training environment" in short.saw
        assert "container.pip" not in short.fix, "there is no container"


def test_experts_of_either_kind_are_no_missing_targets() -> None:
    """`gate_proj` of routed experts is a Linear before transformers 5, and none since."""
    plan = make_plan(seeds_run(4, {"lora_target": "experts.0.gate_proj"}, container=IMAGE), V3)
    missing = [f for f in plan.findings if f.id.startswith("lora-target")]
    assert missing and {f.verdict for f in missing} <= {UNKNOWN, WARN, NOTE}
    assert all("if the image has transformers 5 or later" in f.saw for f in missing)


def test_what_both_have_is_said_once_with_both_remedies() -> None:
    same, other = Finding("a", BLOCK, saw="x", fix="now"), Finding("a", BLOCK, saw="y", fix="then")
    run = seeds_run(container=IMAGE)
    assert agreed(run, True, [same], [same]) == (same,)
    (both,) = agreed(run, True, [same], [other])
    assert (both.verdict, both.saw) == (BLOCK, "x") and both.fix == "now; with transformers before 5: then"
    (old,) = agreed(run, True, [], [other])
    assert old.verdict == WARN and old.saw == "if the image has transformers before 5: y"
    assert agreed(run, False, [], [other])[0].verdict == UNKNOWN


# ---- the example, with the machines that it was written for ----


@pytest.fixture
def machines(tmp_path: Path) -> Path:
    """The recorded A100 nodes, which have NVIDIA's container toolkit."""
    for path in (ROOT / "tests" / "recorded" / "a100").glob("*.json"):
        facts = json.loads(path.read_text())
        facts["values"]["driver"]["container_toolkit"] = "1.17.8"
        (tmp_path / path.name).write_text(json.dumps(facts))
    return tmp_path


def test_the_example_passes(machines: Path, capsys, home) -> None:
    assert main(["plan", str(EXAMPLE)]) == 0
    assert main(["check", str(EXAMPLE), "--facts", str(machines)]) == 0
    assert "All nodes are ready." in capsys.readouterr().out


def test_without_its_pins_the_image_is_not_judged_yet(machines: Path, tmp_path: Path, capsys, home) -> None:
    file = tmp_path / "deepseek-v3-24xa100.yaml"
    lines = EXAMPLE.read_text().splitlines()
    text = "\n".join(line for line in lines if not line.startswith("  pip:"))
    text = text.replace("loader: own", "loader: stock")  # with `own` no version needs much memory of the host
    file.write_text(text.replace("    bf16: true", "    bf16: true\n    save_safetensors: true"))
    config = EXAMPLE.with_name("deepseek-v3-24xa100.config.json")
    (tmp_path / config.name).write_text(config.read_text())
    run = spec.load(str(file))
    inspection = judge(run, recorded(run, str(machines)))
    said = {f.id: f.verdict for f in inspection.findings}
    assert said["argument-refused"] == said["host-memory-short"] == WARN
    assert (
        "deepspeed-version" not in said
    )  # in slices nothing is gathered that needs stage3_allgather_sequential
    assert inspection.stopping() == []
