"""The verb over recorded facts: the folded table, the hostfiles, the settings, JSON, exit codes."""

from __future__ import annotations

import copy
import dataclasses
import io
import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from allranks import checks, spec
from allranks.cli import main
from allranks.cli.verbs.check import masked
from allranks.core import BLOCK, NOTE, Finding, Where
from allranks.node.files import write_text
from allranks.output.check import Checked, print_check, waiting
from allranks.output.console import Out
from allranks.output.messages import waits_for
from allranks.output.report_findings import folded
from allranks.plan import library_trial
from allranks.runs import inspection
from allranks.spec.hostfile import cluster_from_hostfile
from tests.checks.recorded_clusters import FOLDER

NODES = 30
SICK, GONE, OLD = 17, 12, (4, 9, 22)


def one_of_thirty(recorded: dict[str, Any], number: int) -> dict[str, Any]:
    facts = copy.deepcopy(recorded)
    values, address = facts["values"], f"10.20.0.{number}"
    values["system"].update(boot_id=f"boot-{number}", machine_id=f"{number:032x}", hostname=f"node{number}")
    network = values["network"]
    network["interfaces"]["eth0"]["addresses"] = [f"{address}/24"]
    for rail in range(8):
        network["interfaces"][f"ib{rail}"]["addresses"] = [f"10.21.{rail}.{number}/24"]
    network["routes"] = {
        f"node{n}": {"address": f"10.20.0.{n}", "source": address, "interface": "eth0"}
        for n in range(1, NODES + 1)
    }
    for gpu in values["gpus"]["list"]:
        gpu["uuid"] = f"GPU-{number}-{gpu['index']}"
    return facts


def with_faults(facts: dict[str, Any], number: int) -> dict[str, Any]:
    """One node with a broken GPU, one that does not answer, three with another driver."""
    values = facts["values"]
    if number == SICK:
        values["gpus"]["list"][3]["ecc"]["volatile"] = 2
    if number in OLD:
        values["gpus"]["driver"] = "570.86.15"
        values["driver"].update(module={"version": "570.86.15", "open": True}, module_on_disk="570.86.15")
        values["driver"]["libraries"] = {name: ["570.86.15"] for name in values["driver"]["libraries"]}
        values["driver"]["fabric_manager"]["version"] = "570.86.15"
    if number == GONE:
        return {"values": {}, "unreadable": {"node": "connection refused (10.20.0.12:22)"}}
    return facts


@pytest.fixture(scope="module")
def thirty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("thirty")
    recorded = {
        name: json.loads((FOLDER / "h100" / f"{name}.json").read_text()) for name in ("node-0", "node-1")
    }
    names = ", ".join(f"node{n}: 10.20.0.{n}" for n in range(1, NODES + 1))
    text = (FOLDER / "h100" / "run.yaml").read_text()
    text = text.replace("{node-0: 10.20.0.1, node-1: 10.20.0.2}", "{" + names + "}")
    (folder / "run.yaml").write_text(text + 'env: {NCCL_P2P_DISABLE: "1", OMP_NUM_THREADS: "8"}\n')
    about = library_trial.digest(spec.load(folder / "run.yaml"), None)
    for facts in recorded.values():
        facts["values"]["imports"]["configuration"]["digest"] = about
    for number in range(1, NODES + 1):
        facts = with_faults(one_of_thirty(recorded["node-0" if number == 1 else "node-1"], number), number)
        (folder / f"node{number}.json").write_text(json.dumps(facts))
    return folder


Checking = Callable[..., tuple[int, str]]


@pytest.fixture
def check(thirty: Path, capsys: pytest.CaptureFixture[str]) -> Checking:
    def call(*words: str) -> tuple[int, str]:
        code = main(["check", str(thirty / "run.yaml"), "--facts", str(thirty), *words])
        return code, capsys.readouterr().out

    return call


def test_nodes_that_stand_the_same_are_one_line_and_the_worst_is_first(check: Checking) -> None:
    code, text = check()
    assert code == 1
    table = text[text.index("\nevery node that answered") :].splitlines()[1:]
    assert table[0].startswith("every node that answered  GPUs 8 × H100 80GB HBM3, torch 2.13.0")
    assert "driver" not in table[0], "it is not the same on all"
    assert [row.split() for row in table[1:6]] == [
        ["nodes", "findings", "driver"],
        ["node17", "error", "gpu-ecc", "570.124.06"],
        ["node12", "unknown", "unreadable-node", "?"],
        ["node[4,9,22]", "ready", "driver-differs", "570.86.15"],
        ["node[1-3,5-8,10-11,13-16,18-21,23-30]", "ready", "570.124.06"],
    ]
    assert "30 nodes judged from recorded facts" in text and "28 of 30 nodes ready." in text


def test_the_same_finding_of_several_nodes_is_said_once(check: Checking) -> None:
    _, text = check()
    assert text.count("has driver 570.86.15") == 1
    assert "node[4,9,22]  node[4,9,22] has driver 570.86.15" in text
    assert "on node[4,9,22], and reboot" in text


def test_hostfiles_hold_all_nodes_and_can_be_read_back(check: Checking, tmp_path: Path) -> None:
    passing, failing = tmp_path / "passing", tmp_path / "failing"
    check("--passing", str(passing), "--failing", str(failing))
    good, bad = (cluster_from_hostfile(path.read_text(), gpus=1).nodes for path in (passing, failing))
    assert {node.address for node in bad} == {"10.20.0.12", "10.20.0.17"}
    assert len(good) == 28 and all(node.gpus == 8 for node in (*good, *bad))
    assert "10.20.0.17 slots=8  # node17 gpu-ecc\n" in failing.read_text()


def test_nodes_of_one_address_are_one_line_of_a_hostfile(tmp_path: Path, capsys: Any) -> None:
    passing = tmp_path / "passing"
    words = ["--facts", str(FOLDER / "demo"), "--passing", str(passing)]
    assert main(["check", str(FOLDER / "demo" / "run.yaml"), *words]) == 0
    assert passing.read_text() == "127.0.0.1 slots=3  # node-[0-2]\n"
    assert cluster_from_hostfile(passing.read_text()).world_size == 3


def test_recorded_facts_do_not_hide_a_key_that_nothing_acts_on(
    check: Checking, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = Finding("key-without-effect", BLOCK, Where(file="run.yaml"), "sweep is not acted on")
    monkeypatch.setattr(inspection, "without_effect", lambda _run: [said])
    code, text = check("--only", "key-without-effect")
    assert code == 1 and "sweep is not acted on" in text


def test_an_accepted_finding_lets_its_node_pass(check: Checking, tmp_path: Path) -> None:
    passing = tmp_path / "passing"
    code, text = check("--accept", "gpu-ecc", "--passing", str(passing))
    assert code == 3, "one node could not be asked"
    assert "gpu-ecc (accepted)" in text and "# node17 gpu-ecc (accepted)" in passing.read_text()


def test_only_and_skip_narrow_the_findings_and_say_so(check: Checking) -> None:
    code, text = check("--only", "driver-differs")
    assert code == 0 and "30 nodes judged from recorded facts, 1 check." in text
    assert "left out by --only or --skip: argument" not in text and "gpu-ecc" in text.splitlines()[-1]
    assert "These checks found nothing that prevents a launch." in text and "are ready" not in text
    code, text = check("--skip", "gpu-ecc")
    assert code == 3 and "left out by --only or --skip: gpu-ecc" in text


def test_a_check_that_does_not_apply_proves_nothing(capsys: Any) -> None:
    words = ["--facts", str(FOLDER / "cpu"), "--only", "gpu-ecc"]
    assert main(["check", str(FOLDER / "cpu" / "run.yaml"), *words]) == 0
    said = capsys.readouterr().out
    assert "0 checks. None of these checks applies to a run of this kind." in said and "are ready" not in said


def test_a_misspelt_id_is_bad_input(check: Checking) -> None:
    assert check("--only", "gpu-ec")[0] == 2


def test_verbose_says_what_becomes_of_each_setting_and_what_was_quiet(check: Checking) -> None:
    _, text = check("-v")
    lines = text.splitlines()
    p2p = next(line for line in lines if line.startswith("costly"))
    assert "NCCL_P2P_DISABLE=1" in p2p and "run.yaml:" in p2p and "shared memory or TCP" in p2p
    assert any(line.startswith("set") and "OMP_NUM_THREADS=8" in line for line in lines)
    assert any(line.startswith("set") and "bf16=true" in line for line in lines)
    quiet = text[text.index("checks found nothing wrong") : text.index("30 nodes judged")].split()
    assert "gpu-mig" in quiet and "gpu-ecc" not in quiet and "driver-differs" not in quiet


def test_json_has_each_node_with_its_verdict(check: Checking) -> None:
    code, text = check("--json")
    said = json.loads(text)
    nodes = {node["name"]: node for node in said["nodes"]}
    assert code == 1 and len(nodes) == NODES and [n["rank"] for n in said["nodes"]] == list(range(NODES))
    assert nodes["node17"]["verdict"] == "block" and nodes["node17"]["findings"] == ["gpu-ecc"]
    assert nodes["node12"]["passes"] is False and nodes["node1"]["passes"] is True
    assert nodes["node4"]["about"]["driver"] == "570.86.15"
    assert {s["name"]: s["status"] for s in said["settings"]}["NCCL_P2P_DISABLE"] == "costly"
    assert "gpu-ecc" in said["checks"]


def test_saved_facts_are_judged_the_same(thirty: Path, tmp_path: Path, check: Checking) -> None:
    first = json.loads(check("--json", "--save-facts", str(tmp_path / "facts"))[1])
    again = json.loads(check("--json", "--facts", str(tmp_path / "facts"))[1])
    assert again["findings"] == first["findings"] and again["nodes"] == first["nodes"]


# ---- the parts ----


def found(node: str, saw: str) -> dict[str, Any]:
    return Finding("x", BLOCK, Where(node=node), saw, why="why", fix=f"mend {node}").as_json()


def test_folding_takes_a_nodes_own_name_alone() -> None:
    groups = folded([found("node-1", "node-1 is not node-10"), found("node-2", "node-2 is not node-10")])
    assert [(g.text("saw"), g.text("fix")) for g in groups] == [
        ("node-[1-2] is not node-10", "mend node-[1-2]")
    ]
    apart = folded([found("node-1", "node-1 is not node-2"), found("node-2", "node-2 is not node-1")])
    assert [g.text("saw") for g in apart] == ["node-1 is not node-2", "node-2 is not node-1"]
    numbers = folded([found("1", "1 of 2 GPUs"), found("2", "2 of 2 GPUs")])
    assert len(numbers) == 2, "a name of digits is not a name within a sentence"


def test_folding_takes_a_nodes_own_address() -> None:
    addresses = {"a": "10.0.0.1", "b": "10.0.0.12"}
    said = [
        found(name, f"{name} ({address}): timed out at {address}:22") for name, address in addresses.items()
    ]
    (group,) = folded(said, addresses)
    assert group.text("saw") == "a,b (10.0.0.[1,12]): timed out at 10.0.0.[1,12]:22"
    assert len(folded(said)) == 2


def test_nodes_of_one_machine_stand_together() -> None:
    run = spec.load(FOLDER / "demo" / "run.yaml")
    facts = [spec_facts("demo", node.name) for node in run.cluster.nodes]
    said = [Finding("nofile-low", BLOCK, Where(node="node-0"), "64 files")]
    standings = checks.standings(facts, None, run, said)
    assert [one.passes for one in standings] == [False, False, False]
    assert all(one.findings == ("nofile-low",) for one in standings)


def spec_facts(cluster: str, node: str) -> Any:
    from allranks.core import facts_from_json

    return facts_from_json(json.loads((FOLDER / cluster / f"{node}.json").read_text()))


def printed(checked: Checked, width: int = 60) -> list[str]:
    file = io.StringIO()
    out = Out(file=file, width=width, live=True)
    out.console.no_color = True
    print_check(checked, out)
    return re.sub(r"\x1b\[[0-9;]*m", "", file.getvalue()).splitlines()


def test_a_narrow_terminal_keeps_nodes_states_and_findings() -> None:
    run = spec.load(FOLDER / "a100" / "run.yaml")
    facts = [spec_facts("a100", node.name) for node in run.cluster.nodes]
    said = [Finding("clock-offset", NOTE, Where(node="node-1"), "2 s")]
    lines = printed(Checked(said, checks.standings(facts, None, run, said), ["clock-offset"]))
    start = next(n for n, line in enumerate(lines) if line.startswith("nodes"))
    assert all(len(line) <= 60 for line in lines[start : start + 3])
    assert lines[start + 1].split()[:3] == ["node-1", "ready", "clock-offset"]
    assert lines[-2] == "3 nodes judged from recorded facts, 1 check. All nodes are ready."


def test_a_run_that_is_blocked_by_itself_does_not_call_its_nodes_bad() -> None:
    run = spec.load(FOLDER / "cpu" / "run.yaml")
    facts = [spec_facts("cpu", node.name) for node in run.cluster.nodes]
    said = [Finding("argument-refused", BLOCK, Where(file="run.yaml", line=3), "save_safetensors")]
    standings = checks.standings(facts, None, run, said)
    assert all(one.passes for one in standings)
    assert "All nodes are ready; the run is not." in " ".join(printed(Checked(said, standings, ["a"])))


def test_a_terminal_says_who_has_not_answered() -> None:
    run = spec.load(FOLDER / "cpu" / "run.yaml")
    file = io.StringIO()
    with waiting(run, out=Out(file=file, width=80, live=True)) as late:
        late(["node-1"], 5.0)
        time.sleep(0.3)
    assert "waiting for node-1 (5 s)" in file.getvalue()
    with waiting(run, quiet=True, out=Out(file=file)) as late:
        late(["node-0"], 5.0)
    assert "node-0" not in file.getvalue().split("waiting")[-1]


def test_a_log_says_once_who_has_not_answered() -> None:
    run = spec.load(FOLDER / "cpu" / "run.yaml")
    file = io.StringIO()
    with waiting(run, out=Out(file=file, width=200, live=False)) as late:
        for names, seconds in (
            (["node-0", "node-1"], 5),
            (["node-0", "node-1"], 10),
            (["node-1"], 15),
            ([], 17),
        ):
            late(names, float(seconds))
    assert file.getvalue() == "waiting for node-[0-1] (5 s)\nwaiting for node-1 (15 s)\n"
    many = waits_for([f"a{n}b{n}" for n in range(300)], 6.0)
    assert many.startswith("waiting for 300 nodes: a0b0,") and many.endswith(", … (6 s)") and len(many) < 120


@pytest.mark.parametrize("text", ['{"values": [1]}', '{"taken_at": "x"}', "[]", "{", '{"unreadable": 3}'])
def test_a_file_that_holds_no_facts_is_a_node_that_says_nothing(
    text: str, tmp_path: Path, capsys: Any
) -> None:
    (tmp_path / "localhost.json").write_text(text)
    assert main(["check", str(FOLDER / "laptop" / "run.yaml"), "--facts", str(tmp_path)]) == 3
    assert "unreadable-node" in capsys.readouterr().out


def test_the_table_knows_a_vlan_of_dots_and_the_fabric() -> None:
    run = spec.load(FOLDER / "h100" / "run.yaml")
    run = dataclasses.replace(run, network=dataclasses.replace(run.network, interface="bond0.100"))
    facts = [spec_facts("h100", node.name) for node in run.cluster.nodes]
    for one in facts:
        one.values["network"]["interfaces"]["bond0.100"] = {"speed_mbits": 200_000}
    about = checks.standings(facts, None, run, [])[0].about
    assert about["interface"] == "bond0.100 200 Gb/s" and about["fabric"] == "8 × 400 Gb/s InfiniBand"


def test_hostile_facts_do_not_break_the_table() -> None:
    run = spec.load(FOLDER / "cpu" / "run.yaml")
    evil = {"list": [{"name": "\x1b[31mred\u202e"}, {"name": 3}, 7]}
    facts = [spec_facts("cpu", node.name) for node in run.cluster.nodes]
    facts[1] = type(facts[1])("node-1", 0.0, {"gpus": evil, "infiniband": {"devices": {"x": 3}}})
    lines = printed(Checked([], checks.standings(facts, None, run, []), []), 200)
    assert not [line for line in lines if "\x1b" in line or "\u202e" in line]
    assert any("1 × " in line and "red" in line for line in lines)


def test_recorded_facts_hold_no_token_and_are_private(tmp_path: Path) -> None:
    token = "hf_" + "aB3" * 10
    path = tmp_path / "node-0.json"
    path.write_text("of an earlier version")
    path.chmod(0o644)
    write_text(
        str(path), json.dumps(masked({"files": [{"text": f'os.environ["HF_TOKEN"] = "{token}"'}], "n": 3}))
    )
    assert token not in path.read_text() and path.stat().st_mode & 0o777 == 0o600
    assert json.loads(path.read_text())["n"] == 3
