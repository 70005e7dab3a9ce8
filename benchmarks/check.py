"""Facts and judgement: 32 real nodes against one `pdsh hostname`, and 1,000 recorded nodes judged."""

from __future__ import annotations

import dataclasses
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

TITLE = "Looking at nodes, against `pdsh hostname`; judging 1,000 of them"
ROOT = Path(__file__).resolve().parent.parent
NODES, ROUNDS, DEEP_NODES = 32, 3, 3
RECORDED = 1000


def measure() -> str:
    return "\n\n".join([judged(), asked()])


# ---- judging ----


def judged() -> str:
    """1,000 copies of a recorded 8×A100 node, each with names and identities of its own."""
    from allranks import checks

    facts, plan, run = many(RECORDED)
    seconds = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        findings = checks.judge(facts, plan, run)
        seconds.append(time.perf_counter() - begin)
        assert not findings, findings[:3]
    median = statistics.median(seconds)
    return (
        f"{RECORDED:,} recorded nodes of eight A100, {len(checks.ids())} checks: **{median:.2f} s** to judge "
        f"(median of {ROUNDS}, aim < 2 s)."
    )


def many(count: int):
    """(facts, plan, run) of `count` healthy nodes."""
    from allranks.core import Cluster, Node, facts_from_json
    from tests.checks.recorded_clusters import cluster, planned

    found = cluster("a100")
    plan = planned(found, [facts_from_json(found.nodes["node-0"])])
    nodes = tuple(Node(f"node-{n}", f"10.{n // 250}.{n % 250}.1", n, 8) for n in range(count))
    facts = [facts_from_json(one_of_many(found.nodes, node, nodes[:64])) for node in nodes]
    run = dataclasses.replace(found.run, cluster=Cluster(nodes))
    ranks = tuple(
        {
            "rank": node.rank * 8 + gpu,
            "local_rank": gpu,
            "node": node.name,
            "node_rank": node.rank,
            "gpu": gpu,
        }
        for node in nodes
        for gpu in range(8)
    )
    return facts, dataclasses.replace(plan, run=run, ranks=ranks), run


def one_of_many(recorded: dict, node, peers) -> dict:
    facts = json.loads(json.dumps(recorded["node-0" if node.rank == 0 else "node-1"]))
    values = facts["values"]
    facts["node"] = node.name
    values["system"].update(boot_id=f"boot-{node.rank}", machine_id=f"{node.rank:032x}")
    values["network"]["interfaces"]["eth0"]["addresses"] = [f"{node.address}/8"]
    values["network"]["routes"] = {
        peer.name: {"address": peer.address, "source": node.address, "interface": "eth0"} for peer in peers
    }
    for gpu in values["gpus"]["list"]:
        gpu["uuid"] = f"GPU-{node.rank}-{gpu['index']}"
    return facts


# ---- asking ----


def asked() -> str:
    """Whole wall time of asking 32 nodes over SSH and judging, in interleaved pairs with pdsh."""
    if os.geteuid() != 0:
        return "Asking nodes was not measured: the rig of namespaces needs root."
    from tests.rig.rig import STATE, Rig, address, only_one

    with only_one(), Rig(NODES) as rig:
        nodes = [{"name": f"node{n}", "address": address(n)} for n in range(1, NODES + 1)]
        wanted = {
            "nodes": nodes,
            "config": str(STATE / "ssh_config"),
        }
        ask(rig, {**wanted, "nodes": nodes}), pdsh(rig, STATE, nodes)  # the bundle is brought once
        pairs = [(pdsh(rig, STATE, nodes), ask(rig, wanted)) for _ in range(ROUNDS)]
        deep = ask(rig, {**wanted, "nodes": nodes[:DEEP_NODES], "deep": True})
    lines = ["| round | pdsh hostname, s | all facts and judgement, s | ratio |", "|---|---|---|---|"]
    for number, (theirs, mine) in enumerate(pairs, 1):
        lines.append(f"| {number} | {theirs:.2f} | {mine['seconds']:.2f} | {mine['seconds'] / theirs:.2f} |")
    ratio = statistics.median(mine["seconds"] / theirs for theirs, mine in pairs)
    lines.append(
        f"\n{NODES} nodes in namespaces, each with its own sshd; median ratio **{ratio:.2f}** (aim ≤ 2.5), without "
        f"the deep facts. With them (the training stack really imported), {DEEP_NODES} nodes at once on the same "
        f"processors: {deep['seconds']:.1f} s, kept until the environment changes."
    )
    return "\n".join(lines)


def ask(rig, wanted: dict) -> dict:
    script = [sys.executable, str(ROOT / "benchmarks" / "_check_nodes.py")]
    done = subprocess.run(
        rig.from_ctl(script), input=json.dumps(wanted), capture_output=True, text=True, timeout=300
    )
    if done.returncode != 0:
        raise RuntimeError(done.stderr[-2000:])
    answer = json.loads(done.stdout)
    assert not answer["unreadable"], answer["unreadable"]
    return answer


def pdsh(rig, state: Path, nodes: list[dict]) -> float:
    command = [
        "pdsh",
        "-R",
        "ssh",
        "-f",
        str(NODES),
        "-w",
        ",".join(node["address"] for node in nodes),
        "hostname",
    ]
    environment = {**os.environ, "PDSH_SSH_ARGS_APPEND": f"-F {state}/ssh_config"}
    begin = time.perf_counter()
    done = subprocess.run(rig.from_ctl(command), capture_output=True, text=True, timeout=120, env=environment)
    seconds = time.perf_counter() - begin
    assert len(done.stdout.splitlines()) == len(nodes), done.stderr[-500:]
    return seconds


if __name__ == "__main__":
    print(measure())
