"""Hostfiles of DeepSpeed, OpenMPI and the guide."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allranks.core import BadInput
from allranks.spec import cluster_from_hostfile

GUIDE = {
    "basic": ("node1 slots=8\nnode2 slots=8\nnode3 slots=8\nnode4 slots=8\n", [8, 8, 8, 8], None, {}),
    "interfaces": ("node1 slots=8 ib0\nnode2 slots=8 ib0\n", [8, 8], "ib0", {}),
    "unequal": ("node1 slots=8\nnode2 slots=4\nnode3 slots=8\n", [8, 4, 8], None, {}),
    "variables": (
        "# hostfile with env vars\nnode1 slots=8 NCCL_SOCKET_IFNAME=ib0\nnode2 slots=8 NCCL_SOCKET_IFNAME=ib0\n",
        [8, 8],
        None,
        {"NCCL_SOCKET_IFNAME": "ib0"},
    ),
}


@pytest.mark.parametrize("form", GUIDE)
def test_the_guides_hostfiles(form):
    text, gpus, interface, env = GUIDE[form]
    cluster = cluster_from_hostfile(text, "hostfile")
    assert [node.name for node in cluster.nodes] == [f"node{n}" for n in range(1, len(gpus) + 1)]
    assert [node.gpus for node in cluster.nodes] == gpus
    assert {node.interface for node in cluster.nodes} == {interface}
    assert [dict(node.env) for node in cluster.nodes] == [env] * len(gpus)
    assert cluster.world_size == sum(gpus)


def test_comments_blanks_ranges_users_and_order():
    text = (
        "\ufeff# head\r\n\r\n  bob@node1 ib0 slots=4 max_slots=8 # its #1\r\n"
        "node[2-3] X=a#b Y='c # d' Z= cpu=2\n\t\nnode4 user = eve slots\t=6\n10.0.0.9 max-slots=3 slots=3\n"
    )
    nodes = cluster_from_hostfile(text.lstrip("\ufeff"), "h", gpus=7).nodes
    assert [(n.name, n.gpus, n.user, n.interface) for n in nodes] == [
        ("node1", 4, "bob", "ib0"),
        ("node2", 2, None, None),
        ("node3", 2, None, None),
        ("node4", 6, "eve", None),
        ("10.0.0.9", 3, None, None),
    ]
    assert dict(nodes[2].env) == {"X": "a#b", "Y": "c # d", "Z": ""}


WRONG = {
    "": "h  it has no host.",
    "# nothing\n": "h  it has no host.",
    "-x slots=8": "h:1  -x begins with a dash.",
    "a slot=8": "h:1  slot= is not a key of a hostfile.",
    "a slots=0": "h:1  slots=0 is not a number of ranks.",
    "a slots=eight": "h:1  slots=eight is not a number of ranks.",
    "a slots=": "h:1  slots= is not a number of ranks.",
    "a slots=99999": "h:1  slots=99999 is not a number of ranks.",
    "a slots=8 slots=8": "h:1  slots=8: said twice in one line.",
    "a ib0 ib1": "h:1  ib1: said twice in one line.",
    "a X=1 X=2": "h:1  X: said twice in one line.",
    "a 8 9": "h:1  9: said twice in one line.",
    "a 0": "h:1  0 is not a number of ranks.",
    "a,8": "h:1  a,8: this looks like CSV without a line that names the columns.",
    "a;8;r1": "h:1  a;8;r1: this looks like CSV without a line that names the columns.",
    "host,gpus\na,eight": "h:2  gpus: eight is not a number from 1 to 1,024.",
    "host,gpus\n,8": "h:2  this row has no host.",
    "host,gpus\n": "h  there is no host below the headings.",
    'host,gpus\n"a,8': "h:2  it cannot be read as CSV: unexpected end of data.",
    "a:8": "h:1  a:8: the number after the colon could be slots (MPICH) or a port.",
    "a max_slots=8": "h:1  max_slots=8 without slots.",
    "a slots=8 max_slots=4": "h:1  slots=8 is more than max_slots=4.",
    "a ^ib": "h:1  ^ib is a pattern or a list.",
    "a 1X=2": "h:1  1X is not a valid name for a variable.",
    "a X='": "h:1  a quote is opened and never closed.",
    "a ALLRANKS_HOME=/x": "h:1  ALLRANKS_HOME is a name of allranks' own.",
    "a user=-x": "h:1  -x begins with a dash.",
    "[compute]": "h:1  [compute]: [compute] is not a range.",
    "a\nb\na slots=4": "h:3  nodes: a is here twice (node ranks 0 and 2).",
    "a;id slots=8": "h:1  a;id is not a host.",
    "localhost\nb": "h:1  nodes: localhost is 127.0.0.1, but the run has other machines, too.",
}


@pytest.mark.parametrize("text", WRONG)
def test_wrong_lines(text):
    with pytest.raises(BadInput) as error:
        cluster_from_hostfile(text, "h")
    assert [str(p).split("\n")[0] for p in error.value.problems] == [WRONG[text]]


def test_a_lowercase_variable_that_resembles_no_key_is_one():
    nodes = cluster_from_hostfile("a slots=2 http_proxy=http://p:3128\n", "h").nodes
    assert dict(nodes[0].env) == {"http_proxy": "http://p:3128"}


def test_all_wrong_lines_at_once():
    with pytest.raises(BadInput) as error:
        cluster_from_hostfile("a slots=0\nok slots=8\n-b\nc 0\n", "h")
    assert [problem.line for problem in error.value.problems] == [1, 3, 4]


def test_a_token_in_a_hostfile_is_not_printed():
    token = "hf_" + "a1B2" * 8
    with pytest.raises(BadInput) as error:
        cluster_from_hostfile(f"a HF_TOKEN={token}\nb X={token}\n", "h")
    assert len(error.value.problems) == 2
    assert token not in str(error.value)


@given(st.text(alphabet="ab1=#'\"[]-, \t\n\r\x00\\:@é", max_size=60))
@settings(max_examples=200)
def test_garbage_is_a_cluster_or_bad_input(text):
    try:
        cluster = cluster_from_hostfile(text, "h")
    except BadInput as error:
        assert all("\r" not in p.saw and "\0" not in p.saw for p in error.problems)
        return
    assert cluster.nodes


TABLES = {
    "commas": "host,gpus,rack\nnode1,8,r1\nnode2,4,\n",
    "semicolons": "Hostname;GPU Count;rack\r\nnode1;8;r1\r\nnode2;4;\r\n",
    "tabs": "# ours\nnode\tslots\track\n# down: node9\nnode1\t8\tr1\n\nnode2\t4\n",
}


@pytest.mark.parametrize("form", TABLES)
def test_a_table_of_hosts_is_read_by_its_headings(form: str) -> None:
    nodes = cluster_from_hostfile(TABLES[form], "hosts.csv").nodes
    assert [(node.name, node.gpus, dict(node.labels)) for node in nodes] == [
        ("node1", 8, {"rack": "r1"}),
        ("node2", 4, {}),
    ]


def test_a_table_may_say_how_each_node_is_reached() -> None:
    text = "name,ip,user,port,nic\na,10.0.0.1,eve,2222,ib0\nb,10.0.0.2,,,\n"
    first, second = cluster_from_hostfile(text, "hosts.csv", gpus=2).nodes
    assert (first.name, first.address, first.user, first.port, first.interface) == (
        "a", "10.0.0.1", "eve", 2222, "ib0",
    )  # fmt: skip
    assert (second.address, second.user, second.port, second.gpus) == ("10.0.0.2", None, None, 2)


def test_a_bare_number_is_the_count_of_ranks() -> None:
    assert [node.gpus for node in cluster_from_hostfile("node[1-2] 8 ib0\n").nodes] == [8, 8]
