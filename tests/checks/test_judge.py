"""Judging whole clusters: unreadable facts, hostile facts, one host of several nodes, what is asked of nodes."""

from __future__ import annotations

import copy
import dataclasses
import json
import random
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allranks import checks
from allranks.checks import fact_request
from allranks.checks.catalogue import all_rules
from allranks.checks.context import Context
from allranks.checks.node_verdict import standings
from allranks.core import BLOCK, OK, UNKNOWN, WARN, Facts, facts_from_json, finding_from_json
from tests.checks.recorded_clusters import CLUSTERS, FOLDER, asked_again, cluster, in_run, judged, planned


def wrong(found):
    return [f for f in judged(found) if f.verdict != OK]


def test_nothing_said_is_unknown_and_stops_a_launch():
    found = cluster("a100")
    plan = planned(found, [])
    findings = checks.judge([], plan, found.run)
    assert {f.id for f in findings} == {"unreadable-node"} and len(findings) == 3
    assert all(f.stops_launch and f.verdict == UNKNOWN for f in findings)


def test_another_python_is_not_fixed_by_installing_nothing():
    found = cluster("cpu")
    found.nodes["node-1"]["values"]["software"]["python"]["version"] = "3.12.1"
    (finding,) = (f for f in wrong(found) if f.id == "software-drift")
    assert finding.fix == "rebuild the environment of node-1 with the same Python as on the other nodes"


def test_an_empty_answer_is_unknown_and_names_the_checks_that_judged_nothing():
    found = cluster("a100")
    facts = [Facts(node.name, 1.0, {}) for node in found.run.cluster.nodes]
    findings = checks.judge(facts, planned(found, facts), found.run)
    unread = [f for f in findings if f.id == "unreadable-facts"]
    assert {f.where.node for f in unread} == {"node-0", "node-1", "node-2"}
    assert all("judged nothing" in f.why and f.stops_launch for f in unread)
    assert not [f for f in findings if f.verdict == BLOCK], "what was not looked at is not wrong either"


def test_one_reason_is_one_finding_a_node():
    found = cluster("a100")
    found.nodes["node-1"]["values"].pop("gpus")
    found.nodes["node-1"]["unreadable"]["gpus"] = "nvidia-smi did not answer within 15 s"
    findings = [f for f in wrong(found) if f.where.node == "node-1"]
    assert [f.id for f in findings] == ["unreadable-facts"]
    assert "did not answer within 15 s" in findings[0].saw and "gpu-ecc" in findings[0].why


def test_facts_that_only_notes_hang_on_do_not_block():
    found = cluster("cpu")
    found.nodes["node-1"]["values"]["firewall"].pop("input")
    found.nodes["node-1"]["unreadable"]["firewall.input"] = "iptables: Permission denied"
    (finding,) = wrong(found)
    assert finding.verdict == WARN and not finding.stops_launch


def test_gpu_facts_do_not_matter_to_a_run_on_processors():
    found = cluster("cpu")
    for node in found.nodes.values():
        node["values"].pop("gpus")
        node["unreadable"]["gpus"] = "nvidia-smi did not answer within 15 s"
    assert wrong(found) == []


def test_one_host_of_several_nodes_is_told_once():
    found = cluster("demo")
    for node in found.nodes.values():
        node["values"]["storage"]["model"] = {"path": "/models/tiny", "exists": False}
        node["values"]["system"]["limits"]["nofile"] = [64, 64]
    findings = wrong(found)
    assert sorted(f.id for f in findings) == ["model-missing", "nofile-low"]


def test_a_check_that_fails_is_unknown(monkeypatch):
    found = cluster("cpu")
    rule = all_rules()["port-held"]

    def broken(_context):
        yield from ()
        raise ValueError("a bug")

    monkeypatch.setitem(all_rules(), "port-held", type(rule)(**{**rule.__dict__, "check": broken}))
    (finding,) = wrong(found)
    assert finding.id == "port-held" and finding.verdict == UNKNOWN and "a bug" in finding.saw
    assert finding.stops_launch


def test_a_finding_of_a_setting_points_at_its_line():
    found = cluster("a100")
    found.run = in_run(found.run, ["train", "arguments", "ddp_timeout"], 180_000_000)
    (finding,) = wrong(asked_again(found))
    assert finding.where.file and finding.where.file.endswith("a100/run.yaml") and finding.where.line


@pytest.mark.parametrize("name", CLUSTERS)
def test_findings_go_through_json(name):
    for finding in judged(cluster(name)):
        assert finding_from_json(json.loads(json.dumps(finding.as_json()))) == finding


# ---- hostile facts ----

LEAVES = (
    None,
    True,
    False,
    -1,
    0,
    7,
    2**70,
    float("nan"),
    float("inf"),
    "",
    "x",
    "\x1b[31mred\x07",
    "\u202e",
    [],
    {},
)
EVIL = "\x1b]0;owned\x07\x9b31m\u202eevil\r\n<script>alert(1)</script>"


def places(tree, path=()):
    """Every place of a tree of facts."""
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in list(items):
        yield (*path, key)
        yield from places(value, (*path, key))


def replace(tree, path, value):
    for part in path[:-1]:
        tree = tree[part]
    tree[path[-1]] = value


def run_every_rule(found):
    """As `judge`, but a rule that fails over facts fails the test."""
    facts = [facts_from_json(one) for one in found.nodes.values()]
    context = Context.make(facts, planned(cluster_of(found), []), found.run)
    for rule in all_rules().values():
        if rule.applies(context):
            for finding in rule.check(context):
                assert json.loads(json.dumps(finding.as_json()))["id"] == finding.id
    for standing in standings(context, []):
        assert json.loads(json.dumps(standing.as_json()))


def cluster_of(found):
    """The healthy cluster of the same run: plans are not what is tested here."""
    return cluster(found.run.name)


@pytest.mark.parametrize("name", ["a100", "h100", "cpu"])
def test_no_value_anywhere_breaks_a_check(name):
    """One wrong value at a random place, a few hundred times; every rule runs unguarded."""
    chance = random.Random(20251121)
    healthy = cluster(name)
    node = "node-1"
    everywhere = list(places(healthy.nodes[node]["values"]))
    everywhere = [p for p in everywhere if "files" not in p[:-1] or len(p) < 4]
    for _ in range(120):
        found = copy.copy(healthy)
        found.nodes = {**healthy.nodes, node: json.loads(json.dumps(healthy.nodes[node]))}
        for path in chance.sample(everywhere, 3):
            try:
                replace(found.nodes[node]["values"], path, copy.deepcopy(chance.choice(LEAVES)))
            except (KeyError, TypeError, IndexError):
                continue  # a place below one that was replaced before
        run_every_rule(found)


nested = st.recursive(
    st.sampled_from(LEAVES),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=40, deadline=None)
@given(
    st.dictionaries(st.sampled_from(["system", "gpus", "network", "storage", "software", "driver"]), nested)
)
def test_no_family_of_any_shape_breaks_a_check(values):
    found = cluster("a100")
    for node in found.nodes.values():
        node["values"].update(values)
    run_every_rule(found)


def test_what_nodes_say_reaches_no_terminal_raw():
    found = cluster("a100")
    for node in found.nodes.values():
        values = node["values"]
        values["gpus"]["list"][0]["name"] = EVIL
        values["gpus"]["list"][1]["processes"] = [{"pid": 1, "type": "C", "name": EVIL, "uid": EVIL}]
        values["storage"]["model"]["missing"] = [EVIL]
        values["software"]["versions"]["torch"] = EVIL
        values["system"]["boot_id"] = EVIL
    found.nodes["node-1"]["unreadable"]["network"] = EVIL
    texts = [text for f in judged(found) for text in (f.saw, f.expected, f.why, f.fix, *f.evidence)]
    assert any("evil" in text for text in texts)
    for text in texts:
        assert not [c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Cs")], repr(text)


# ---- the request ----


def test_what_nodes_are_asked():
    found = cluster("a100")
    asked = checks.request(found.run, planned(found, []))
    assert list(asked) == ["node-0", "node-1", "node-2"]
    head, other = asked["node-0"], asked["node-1"]
    assert head["ports"] == other["ports"] == [], "an automatic port is reserved at the run's start"
    network = dataclasses.replace(found.run.network, port=39500)
    named = dataclasses.replace(found.run, network=network)
    assert checks.request(named, planned(found, []))["node-0"]["ports"] == [39500]
    assert head["peers"]["node-2"] == "10.18.122.132" and head["head"] == "node-0"
    assert head["model"] == "/nfs/DeepSeek-V3-bf16"
    assert head["dataset"] == {"dir": "/nfs/data", "names": ["all_creator_training"]}
    assert head["paths"] == ["/home/ubuntu/runs"] and head["libraries"] is True and head["ssh"] == {}
    assert head["imports"] == ["torch", "deepspeed", "transformers", "peft", "llamafactory.train.tuner"]
    assert head["env"]["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"
    json.dumps(asked)


def test_a_script_of_ones_own_is_asked_for_with_its_json():
    found = cluster("cpu")
    run = in_run(found.run, ["train", "kind"], "command")
    run = in_run(run, ["train", "command"], ("/opt/train.py", "--lr", "1", "--deepspeed_config=/opt/ds.json"))
    asked = checks.request(run, None)["node-0"]
    assert asked["files"] == ["/opt/train.py", "/opt/ds.json"] and asked["imports"] == ["torch"]
    assert "model" not in asked and "dataset" not in asked
    question = asked["configuration"]
    assert (question["kind"], question["path"]) == ("deepspeed", "/opt/ds.json")
    assert question["deepspeed"] is None and question["filled"] is False
    assert question["world_size"] == run.cluster.world_size


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (("--deepspeed", "ds.json"), ("/opt/ds.json", False, True)),
        (("--deepspeed=/etc/ds.json", "--lr", "1"), ("/etc/ds.json", False, True)),
        (("--deepspeed", "--deepspeed_config", "ds.json"), ("/opt/ds.json", False, False)),
        (("--config", "ds.json"), None),
        (("--deepspeed",), None),
        ((), None),
    ],
)
def test_the_json_of_a_script_that_deepspeed_is_asked_about(words, found):
    run = in_run(cluster("cpu").run, ["train", "kind"], "command")
    assert fact_request.deepspeed_json(in_run(run, ["train", "command"], ("/opt/train.py", *words))) == found


def test_a_shipped_json_goes_to_the_nodes_with_the_question(tmp_path):
    (tmp_path / "ds.json").write_text('{"train_batch_size": 3}')
    run = in_run(cluster("cpu").run, ["train", "kind"], "command")
    run = in_run(run, ["train", "command"], ("train.py", "--deepspeed", "ds.json"))
    run = dataclasses.replace(run, code=str(tmp_path))
    asked = fact_request.configuration(run, None)
    assert asked is not None and asked["deepspeed"] == {"train_batch_size": 3} and asked["filled"] is True
    (tmp_path / "ds.json").write_text("[1")
    asked = fact_request.configuration(run, None)
    assert asked is not None and asked["deepspeed"] == {}


def test_paths_of_a_container_are_looked_at_on_the_host():
    from allranks.checks.fact_request import path_on_node
    from allranks.spec import Container

    found = cluster("a100")
    mounts = ("/nfs:/nfs:ro", "/home/ubuntu:/host_home", "/data/x:/host_home/data", "/:/host")
    run = in_run(found.run, ["container"], Container("docker", "image", mounts))
    assert path_on_node(run, "/host_home/runs") == "/home/ubuntu/runs"
    assert path_on_node(run, "/host_home/data/a") == "/data/x/a", "the deepest mount counts"
    assert path_on_node(run, "/host_homes/runs") is None and path_on_node(run, "/host/tmp") == "/tmp"
    asked = checks.request(run, None)["node-0"]
    assert asked["model"] == "/nfs/DeepSeek-V3-bf16" and asked["paths"] == [], "save.to is in no mount"
    assert asked["imports"] == [] and asked["python"] is None and asked["engine"] == "docker"


def test_pages_are_found_by_id():
    assert len(checks.ids()) >= 50 and checks.ids() == sorted(checks.ids())
    page = checks.page("port-held")
    assert page is not None and page.sections["Why it matters"]
    with pytest.raises(KeyError):
        checks.page("no-such-check")


def test_relative_paths_mean_the_run_files_folder_where_the_nodes_are_this_machine():
    found = cluster("demo")
    folder = str(FOLDER / "demo")
    assert found.run.here("./data") == f"{folder}/data" and found.run.here("data") == "data"
    assert found.run.here("train.py", bare=True) == f"{folder}/train.py"
    assert found.run.here("~/train.py", bare=True) == "~/train.py"
    away = in_run(found.run, ["launch", "with_"], "ssh")
    assert away.here("./data") == "./data" and away.here("train.py", bare=True) == "train.py"


# ---- facts that were not read ----

SAYS_THAT_IT_IS_UNREAD = {"environment-missing", "gpus-missing", "unreadable-facts"}
"""The first two judge by the very fact that something does not answer."""
NCCL = {"NCCL_IB_GID_INDEX": "3", "NCCL_IB_HCA": "mlx5_1"}


@pytest.mark.lengthy
@pytest.mark.parametrize("name", ["a100", "h100", "cpu", "demo"])
def test_no_check_takes_a_fact_that_was_not_read_for_a_value(name):
    """One fact after the other is unreadable on one node: nothing is said there that was not said before."""
    before = {(one.id, one.saw) for one in judged(with_settings(name))}
    needs = {need for rule in all_rules().values() for need in rule.needs}
    for need in sorted(needs):
        found = with_settings(name)
        node = list(found.nodes.values())[1]
        *family, last = need.split(".")
        held = node["values"]
        for part in family:
            held = held.get(part) or {}
        held.pop(last, None)
        node["unreadable"][need] = "Permission denied"
        said = [one for one in judged(found) if one.id not in SAYS_THAT_IT_IS_UNREAD]
        assert [one for one in said if (one.id, one.saw) not in before] == [], need


def with_settings(name):
    found = cluster(name)
    for key, value in NCCL.items() if name == "h100" else ():
        found.run = in_run(found.run, ["env", key], value)
    return found
