"""A nonce written on one node and looked for on the others: over real folders, with nodes that share them or do not."""

from __future__ import annotations

import asyncio
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from allranks import checks
from allranks.checks.shared_paths import candidates
from allranks.core import Facts, facts_from_json
from allranks.node import facts as node_facts
from allranks.runs.shared_storage import look_again
from allranks.transport.base import Unreachable
from allranks.transport.nodes import Nodes
from tests.checks.recorded_clusters import cluster

RUNS = "/home/ubuntu/runs"


class Machine:
    """A node whose mounts are folders of this test: what it is asked, it really does."""

    def __init__(self, mounts: dict[str, Path], gone: bool = False):
        self.mounts, self.gone, self.asked = mounts, gone, []

    async def call(self, _verb: str, *, stdin: dict[str, Any], timeout_seconds: float) -> dict[str, Any]:
        self.asked.append(stdin["nonce"]["do"])
        if self.gone:
            raise Unreachable("node-1", "lost", "the connection was closed")
        back = {str(self.mounts.get(f, f)): f for f in stdin["nonce"]["folders"]}
        answer = node_facts.collect({**stdin, "nonce": {**stdin["nonce"], "folders": list(back)}}).as_json()
        folders = answer["values"]["shared"]["folders"]
        answer["values"]["shared"]["folders"] = {back[real]: said for real, said in folders.items()}
        return json.loads(json.dumps(answer))


def on_nfs(name: str = "a100", **change: Any) -> tuple[Any, list[Facts]]:
    found = cluster(name)
    for node in found.nodes.values():
        state = node["values"]["storage"]["paths"][RUNS]
        state.update(type="nfs4", source="nas:/runs", **change)
    return found.run, [facts_from_json(one) for one in found.nodes.values()]


def looked(run: Any, facts: list[Facts], machines: list[Machine]) -> dict[str, dict[str, Any]]:
    nodes = {node.name: node for node in run.cluster.nodes}
    reached = Nodes(dict(zip(nodes, machines, strict=True)), nodes)  # type: ignore[arg-type] # they only call
    after = asyncio.run(look_again(reached, run, facts))
    assert [one.node for one in after] == [one.node for one in facts]
    told = {f.where.node: f.verdict for f in checks.judge(after, None, run) if f.id == "storage-not-one"}
    return {
        one.node: {"shared": one.get("shared.folders", {}).get(RUNS), "told": told.get(one.node)}
        for one in after
    }


@pytest.fixture
def storages(tmp_path: Path) -> tuple[Path, Path]:
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
    return tmp_path / "one", tmp_path / "other"


def test_one_storage_is_seen_to_be_one_and_left_as_it_was(storages: tuple[Path, Path]) -> None:
    one, _ = storages
    run, facts = on_nfs()
    found = looked(run, facts, [Machine({RUNS: one}) for _ in range(3)])
    assert found["node-1"]["shared"] == {"writer": "node-0", "done": True} == found["node-2"]["shared"]
    assert all(one["told"] is None for one in found.values())
    assert os.listdir(one) == []


def test_another_storage_of_the_same_path_is_told(storages: tuple[Path, Path]) -> None:
    one, other = storages
    run, facts = on_nfs()
    found = looked(run, facts, [Machine({RUNS: one}), Machine({RUNS: other}), Machine({RUNS: one})])
    assert found["node-1"] == {"shared": {"writer": "node-0", "done": False}, "told": "warn"}
    assert found["node-2"]["told"] is None
    assert os.listdir(one) == os.listdir(other) == []


def test_a_node_that_is_gone_is_a_warning_and_the_file_is_removed_all_the_same(
    storages: tuple[Path, Path],
) -> None:
    one, _ = storages
    run, facts = on_nfs()
    machines = [Machine({RUNS: one}), Machine({RUNS: one}, gone=True), Machine({RUNS: one})]
    found = looked(run, facts, machines)
    assert found["node-1"]["told"] == "warn" and "closed" in found["node-1"]["shared"]["reason"]
    assert found["node-2"]["told"] is None and os.listdir(one) == []
    assert machines[0].asked == ["write", "remove"]


def test_a_folder_that_nobody_may_write_is_a_warning(storages: tuple[Path, Path], tmp_path: Path) -> None:
    run, facts = on_nfs()
    found = looked(run, facts, [Machine({RUNS: tmp_path / "nowhere"}) for _ in range(3)])
    assert {found[name]["told"] for name in ("node-1", "node-2")} == {"warn"}
    assert "No such file" in found["node-1"]["shared"]["reason"]


def test_no_second_look_without_shared_storage() -> None:
    found = cluster("a100")
    facts = [facts_from_json(one) for one in found.nodes.values()]
    assert candidates(found.run, facts) == []
    run, facts = on_nfs(writable=False)
    assert candidates(run, facts) == [], "nobody may write there"
    run, facts = on_nfs()
    values = [dict(one.values, system={"boot_id": "the same"}) for one in facts]
    same = [Facts(one.node, 0.0, value) for one, value in zip(facts, values, strict=True)]
    assert candidates(run, same) == [], "they are one machine"


@pytest.mark.parametrize(
    "nonce",
    [
        {"token": "../../etc/passwd", "do": "remove", "folders": ["/tmp"]},
        {"token": "a" * 32, "do": "rmtree", "folders": ["/tmp"]},
        {"token": None},
        {"do": "write", "folders": "x"},
    ],
)
def test_a_request_of_another_form_does_nothing(nonce: dict[str, Any]) -> None:
    found = node_facts.collect({"families": ["shared"], "nonce": nonce})
    assert "shared.folders" in found.unreadable and found.values["shared"] == {}


def test_a_link_in_the_files_place_is_not_followed(tmp_path: Path) -> None:
    token, victim = "b" * 32, tmp_path / "victim"
    (tmp_path / f".allranks-{token}").symlink_to(victim)
    nonce = {"token": token, "do": "write", "folders": [str(tmp_path)]}
    found = node_facts.collect({"families": ["shared"], "nonce": nonce}).values["shared"]["folders"]
    assert found[str(tmp_path)]["done"] is None and re.search("exists", found[str(tmp_path)]["reason"], re.I)
    assert not victim.exists()
