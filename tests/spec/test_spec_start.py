"""What `allranks init` writes: it loads, as it is and with every commented line taken in."""

from __future__ import annotations

import os
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allranks.core import BadInput
from allranks.core.text import fold
from allranks.spec import cluster_from_hostfile, init_text, loads, local_cluster


def brief(run):
    return [(n.name, n.address, n.gpus, n.user, n.interface, dict(n.env)) for n in run.cluster.nodes]


def test_this_machine():
    run = loads(init_text())
    assert brief(run) == [("localhost", "127.0.0.1", 1, None, None, {})]
    assert run.launch.with_ == "local"


def test_several_nodes_on_this_machine_are_the_local_cluster():
    run = loads(init_text(local_nodes=3, gpus=2))
    assert run.cluster == local_cluster(3, 2)
    assert [node.gpus for node in local_cluster(2).nodes] == [1, 1] and len(local_cluster().nodes) == 1
    assert run.same_host


@pytest.mark.parametrize(
    ("here", "asked", "written"),
    [
        (8, None, "gpus: 8   # GPUs (ranks) of each node\n"),
        (8, 2, "gpus: 2   # GPUs (ranks) of each node\n"),
        (0, None, "gpus: {count: 1, model: cpu}   # this machine has no GPU"),
        (0, 3, "gpus: {count: 3, model: cpu}   # this machine has no GPU"),
        (None, None, "gpus: 1   # GPUs (ranks) of each node; those of this machine could not be counted\n"),
    ],
)
def test_the_gpus_of_this_machine_are_written(here, asked, written):
    text = init_text(gpus=asked, gpus_here=here)
    assert written in text
    run = loads(text)
    assert run.cluster.world_size == (asked or here or 1)
    assert run.on_cpu == (here == 0)


def test_the_gpus_of_this_machine_say_nothing_of_other_nodes():
    assert "gpus: 1   # GPUs (ranks) of each node\n" in init_text(nodes="node[1-2]", gpus_here=0)


def test_names():
    run = loads(init_text(nodes="bob@node[01-03],node9", gpus=8))
    assert [(n.name, n.gpus, n.user) for n in run.cluster.nodes] == [
        ("node01", 8, "bob"),
        ("node02", 8, "bob"),
        ("node03", 8, "bob"),
        ("node9", 8, None),
    ]
    assert "nodes: node[01-03]\nuser: bob\n" in init_text(nodes="bob@node[01-03]")


def test_a_slurm_job(monkeypatch):
    monkeypatch.setenv("SLURM_GPUS_ON_NODE", "8")
    run = loads(init_text(environ={**os.environ, "SLURM_JOB_NODELIST": "gpu[01-04],big1"}))
    assert [(n.name, n.gpus) for n in run.cluster.nodes] == [(f"gpu0{n}", 8) for n in range(1, 5)] + [
        ("big1", 8)
    ]
    assert run.launch.with_ == "slurm"
    monkeypatch.setenv("SLURM_GPUS_ON_NODE", "a100:4")
    assert loads(init_text(environ={**os.environ, "SLURM_JOB_NODELIST": "gpu1"})).cluster.world_size == 4
    monkeypatch.delenv("SLURM_GPUS_ON_NODE")
    monkeypatch.delenv("SLURM_GPUS_PER_NODE", raising=False)
    assert loads(init_text(environ={**os.environ, "SLURM_JOB_NODELIST": "gpu1"})).cluster.world_size == 1


def test_named_nodes_go_before_the_slurm_job():
    assert [
        n.name for n in loads(init_text(nodes="a", environ={"SLURM_JOB_NODELIST": "b"})).cluster.nodes
    ] == ["a"]


HOSTFILES = [
    "node1 slots=8\nnode2 slots=8\n",
    "node1 slots=8\nnode2 slots=4\n",
    "node1 slots=8 ib0\nnode2 slots=8 ib0\n",
    "bob@10.0.0.1 slots=2 X='a, b: {c} # d'\neve@10.0.0.2\n",
    "node2 slots=8\nnode1 slots=8\nnode3 slots=8\n",
    "1a slots=1\n007x slots=1\n",
    "null slots=1\ntrue slots=1\n1e5 slots=2\n",
    "fd00::1 slots=1\nfd00::2 slots=1\n",
    f"{'a' * 40}.{'b' * 40}.example.org slots=1\n",
]


@pytest.mark.parametrize("text", HOSTFILES)
def test_a_hostfile(tmp_path, text):
    path = tmp_path / "hosts"
    path.write_text(text)
    written = init_text(nodes=str(path), gpus=3)
    cluster = cluster_from_hostfile(text, "hosts", 3)
    run = loads(written)
    users = {n.user for n in cluster.nodes}
    same = users.pop() if len(users) == 1 else None
    assert [(n.name, n.address, n.gpus, n.interface, n.env) for n in run.cluster.nodes] == [
        (n.name, n.address, n.gpus, n.interface, n.env) for n in cluster.nodes
    ]
    assert [n.user or run.user for n in run.cluster.nodes] == [n.user or same for n in cluster.nodes]


def test_a_hostfile_that_is_not_there_or_wrong(tmp_path):
    with pytest.raises(BadInput, match="file not found"):
        init_text(nodes="./hosts")
    (tmp_path / "hosts").write_text("a slots=x\n")
    with pytest.raises(BadInput, match="hosts:1  slots=x is not a number of ranks"):
        init_text(nodes=str(tmp_path / "hosts"))
    with pytest.raises(BadInput, match="-x begins with a dash"):
        init_text(nodes="-x")
    with pytest.raises(BadInput, match="is here twice"):
        init_text(nodes="a,a")


def test_what_is_trained(tmp_path):
    assert loads(init_text(train="my train.py")).train.command == ("my train.py",)
    (tmp_path / "sft.yaml").write_text("stage: sft\n")
    assert loads(init_text(train="sft.yaml"), str(tmp_path / "r.yaml")).train.arguments == {"stage": "sft"}


def test_every_commented_line_is_a_key_that_loads():
    """What stands behind a `# ` and looks like a key is taken in; the file still loads, and says it all."""
    text = init_text(nodes="node[1-2]", gpus=8)
    lines = [re.sub(r"^( *)# (?=(?:  )?[a-z_]+:)", r"\1", line) for line in text.split("\n")]
    lines = [line for line in lines if not line.startswith(("auto:", "  llamafactory", "environment"))]
    run = loads("\n".join(lines))
    assert run.container is not None
    assert (run.user, run.save.every, run.secrets) == ("ubuntu", 50, ("HF_TOKEN",))
    assert run.notes == ()
    assert "environment: {python:" in text


def test_no_line_is_too_long_to_read():
    assert max(map(len, init_text(nodes="node[1-2]").split("\n"))) <= 110


@given(
    st.lists(
        st.from_regex(r"[a-z][a-z0-9-]{0,6}[0-9]{1,3}", fullmatch=True), min_size=1, max_size=12, unique=True
    )
)
@settings(max_examples=60)
def test_any_names_in_their_order(names):
    run = loads(init_text(nodes=fold(names, keep_order=True), gpus=2))
    assert [node.name for node in run.cluster.nodes] == names
