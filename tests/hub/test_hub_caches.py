"""Models of the Hub in the caches of this machine and of the nodes."""

from __future__ import annotations

import dataclasses
import json
import socket
from pathlib import Path

import pytest

from allranks import checks
from allranks.core import Facts, facts_from_json
from allranks.node import facts, hub_cache
from allranks.runs.inspection import local_config, planned
from tests.hub.folders import CONFIG, MODEL, PARAMETERS, a_run, keep
from tests.hub.server import PATH, Server


def told(run, number: int = 0) -> Facts:
    """What a node of this run says: this machine, in the part of a node."""
    plan = planned(dataclasses.replace(run, train=dataclasses.replace(run.train, kind="command")))
    asked = checks.request(run, plan)[run.cluster.nodes[number].name]
    asked["env"] = dict(run.env)
    return facts_from_json(json.loads(json.dumps(facts.collect({**asked, "families": ["hub"]}).as_json())))


@pytest.mark.parametrize(
    ("variables", "folder"),
    [
        ({}, "/u/.cache/huggingface/hub"),
        ({"XDG_CACHE_HOME": "/x"}, "/x/huggingface/hub"),
        ({"HF_HOME": "~/hf", "XDG_CACHE_HOME": "/x"}, "/u/hf/hub"),
        ({"HUGGINGFACE_HUB_CACHE": "/old", "HF_HOME": "/h"}, "/old"),
        ({"HF_HUB_CACHE": "/new", "HUGGINGFACE_HUB_CACHE": "/old"}, "/new"),
    ],
)
def test_the_cache_is_where_the_variables_say(variables: dict[str, str], folder: str) -> None:
    assert hub_cache.cache({"HOME": "/u", **variables}) == folder


@pytest.mark.parametrize(
    "name", ["../x", "a/../b", "a/b/c", "/a", "~/a", "./a", "a--b/c", "", "a/b\n", ".a/b"]
)
def test_what_may_be_a_path_is_no_model_of_the_hub(name: str) -> None:
    assert not hub_cache.is_id(name)


@pytest.mark.parametrize("commit", ["../../../elsewhere", "/etc", "", "a/b", ".."])
def test_a_ref_that_leads_out_of_the_cache_leads_nowhere(tmp_path: Path, commit: str) -> None:
    keep(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "models--Qwen--Qwen2.5-0.5B" / "refs" / "main").write_text(commit)
    assert hub_cache.snapshot(str(tmp_path), MODEL, "main") is None
    assert hub_cache.snapshot(str(tmp_path), MODEL, "../refs/main") is None


@pytest.mark.parametrize("variable", ["HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"])
def test_this_machines_cache_is_found_by_every_variable(machine: Path, monkeypatch, variable: str) -> None:
    keep(machine / "here" / "hub" if variable == "HF_HOME" else machine / "here")
    assert local_config(a_run()) is None
    assert local_config(a_run(f"env: {{{variable}: {machine}/here}}")) == CONFIG
    monkeypatch.setenv(variable, str(machine / "here"))
    assert local_config(a_run()) == CONFIG


def test_both_keys_of_a_revision_count_and_so_does_cache_dir(machine: Path) -> None:
    keep(machine / "c", "c1")
    keep(machine / "c", "c2", "refs/pr/1", hidden_size=448)
    folder = str(machine / "c")
    assert local_config(a_run(cache_dir=folder)) == CONFIG
    for key in ("model_revision", "revision"):
        for revision in ("refs/pr/1", "c2"):
            assert local_config(a_run(cache_dir=folder, **{key: revision}))["hidden_size"] == 448
        assert local_config(a_run(cache_dir=folder, **{key: "v9"})) is None


@pytest.mark.parametrize("variable", ["HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"])
def test_a_run_is_planned_with_what_a_nodes_cache_holds(machine: Path, monkeypatch, variable: str) -> None:
    """The controller has no model; the node's ranks find it by a variable of the run file."""
    keep(machine / "node" / "hub" if variable == "HF_HOME" else machine / "node")
    run = a_run(f"env: {{{variable}: {machine}/node}}")
    answer = told(run)
    model = answer.get("hub.model")
    assert model["exists"] and model["commit"] == "c1" and model["config"] == CONFIG
    assert model["files"].keys() == {"config.json", "model.safetensors", "tokenizer.json"}
    (machine / "node").rename(machine / "not-of-the-controller")
    assert planned(run).model is None
    plan = planned(run, [answer])
    assert plan.model.total_parameters == PARAMETERS and plan.findings == ()


def test_ranks_inherit_no_variable_of_the_node_but_its_config_still_counts(
    machine: Path, monkeypatch
) -> None:
    keep(machine / "node" / "hub")
    monkeypatch.setenv("HF_HOME", str(machine / "node"))
    answer = told(a_run())
    model = answer.get("hub.model")
    assert not model["exists"] and model["elsewhere"] == str(machine / "node" / "hub")
    assert model["cache"] == str(machine / ".cache" / "huggingface" / "hub")
    monkeypatch.delenv("HF_HOME")
    assert planned(a_run(), [answer]).model.total_parameters == PARAMETERS


def test_a_node_without_the_revision_gives_the_newest_config(machine: Path) -> None:
    keep(machine / ".cache/huggingface/hub", "c1", "v1")
    model = told(a_run()).get("hub.model")
    assert model["exists"] is False and model["config"] == CONFIG
    assert told(a_run(model_revision="v1")).get("hub.model.exists") is True


def test_a_config_of_another_model_or_revision_is_not_planned_with(machine: Path) -> None:
    keep(machine / ".cache/huggingface/hub")
    answer = told(a_run())
    (machine / ".cache").rename(machine / "gone")
    assert planned(a_run(model_name_or_path="Qwen/Qwen3-8B"), [answer]).model is None
    assert planned(a_run(model_revision="v2"), [answer]).model is None


def test_a_huge_or_broken_config_is_not_read(machine: Path) -> None:
    cache = machine / ".cache/huggingface/hub"
    keep(cache, notes="x" * (1 << 20))
    model = told(a_run()).get("hub.model")
    assert model["config"] is None and "larger than" in model["config_trouble"]
    for text in ("[" * 100_000, "[]", "{", '"x"'):
        (cache / "models--Qwen--Qwen2.5-0.5B/blobs/c1-config.json").write_text(text)
        assert told(a_run()).get("hub.model.config") is None
        assert local_config(a_run()) is None


def test_of_a_container_the_cache_is_asked_for_that_is_mounted(machine: Path) -> None:
    def asked(more: str, **arguments):
        run = a_run(f"container: {{image: x/y:1, mounts: [{machine}/models:/models]}}\n{more}", **arguments)
        return checks.fact_request.hub_question(run)

    assert asked("env: {HF_HOME: /models/hf}")["cache"] == f"{machine}/models/hf/hub"
    assert asked("", cache_dir="/models/c")["cache"] == f"{machine}/models/c"
    assert asked("") is asked("env: {HF_HOME: /inside}") is asked("", cache_dir="below") is None


def test_a_folder_and_a_model_of_another_hub_are_not_asked_for() -> None:
    assert checks.fact_request.hub_question(a_run(model_name_or_path="/models/x")) is None
    assert checks.fact_request.hub_question(a_run('env: {USE_MODELSCOPE_HUB: "1"}')) is None
    assert checks.fact_request.hub_question(a_run()) == {"id": MODEL, "revision": "main", "cache": None}


# ---- whether a node lacks it, and whether the Hub answers to the node ----


def endpoint(server: Server) -> str:
    return f"env: {{HF_ENDPOINT: '{server.base}'}}"


def found_of(run) -> list:
    """What the check says where every node of the run is this machine."""
    answers = [told(run, n) for n in range(len(run.cluster.nodes))]
    return [f for f in checks.judge(answers, planned(run, answers), run) if f.id == "model-from-hub"]


def test_a_whole_model_lacks_nothing_and_the_hub_is_not_asked(machine, server, monkeypatch) -> None:
    monkeypatch.delenv("HF_HUB_OFFLINE")
    keep(machine / ".cache/huggingface/hub")
    answer = told(a_run(endpoint(server)))
    assert answer.get("hub.model.lacks") == [] and answer.get("hub.reach") is None and server.seen == []
    assert found_of(a_run(endpoint(server))) == []


@pytest.mark.parametrize(
    ("file", "lack"),
    [("tokenizer.json", "a tokenizer"), ("model.safetensors", "weights"), ("config.json", "config.json")],
)
def test_a_link_to_a_file_that_is_gone_is_lacked(machine: Path, file: str, lack: str) -> None:
    cache = machine / ".cache/huggingface/hub"
    keep(cache)
    (cache / "models--Qwen--Qwen2.5-0.5B" / "blobs" / f"c1-{file}").unlink()
    assert told(a_run()).get("hub.model.lacks") == [lack]
    (finding,) = found_of(a_run('env: {HF_HUB_OFFLINE: "1"}', nodes=1))
    assert finding.verdict == "block" and lack in finding.saw


def test_a_node_that_reaches_the_hub_asks_without_a_token(machine, server, monkeypatch) -> None:
    monkeypatch.delenv("HF_HUB_OFFLINE")
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
        monkeypatch.setenv(name, "nobody-may-see-it")
    server.gives()
    answer = told(a_run(endpoint(server)))
    assert answer.get("hub.reach.status") == 200 and server.seen == [(PATH, None)]
    assert "nobody-may-see-it" not in str(answer.as_json())
    assert found_of(a_run(endpoint(server), nodes=1)) == []


def test_a_node_that_does_not_reach_the_hub_is_told_before_the_run(machine: Path, monkeypatch) -> None:
    monkeypatch.delenv("HF_HUB_OFFLINE")
    with socket.socket() as bound:  # bound, and nobody listens
        bound.bind(("127.0.0.1", 0))
        run = a_run(f"env: {{HF_ENDPOINT: 'http://127.0.0.1:{bound.getsockname()[1]}'}}", nodes=1)
        (finding,) = found_of(run)
    assert finding.verdict == "block" and "Connection refused" in finding.saw


def test_a_cache_that_ranks_do_not_inherit_is_named_with_the_fix(machine: Path, monkeypatch) -> None:
    keep(machine / "node" / "hub")
    monkeypatch.setenv("HF_HOME", str(machine / "node"))
    (finding,) = found_of(a_run('env: {HF_HUB_OFFLINE: "1"}', nodes=1))
    assert finding.fix.startswith(f"env: {{HF_HUB_CACHE: {machine}/node/hub}}")
