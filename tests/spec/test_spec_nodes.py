"""`nodes:` in all its forms."""

from __future__ import annotations

import pytest

from allranks.core import BadInput
from allranks.spec import loads
from allranks.spec.start import quoted


def run_of(nodes: str, more: str = "", file=None):
    return loads(f"nodes: {nodes}\ngpus: 8\ntrain: {{command: [a.py]}}\n{more}", file)


def brief(run):
    return [(node.name, node.address, node.gpus) for node in run.cluster.nodes]


def problems_of(nodes: str, more: str = "", file=None):
    with pytest.raises(BadInput) as error:
        run_of(nodes, more, file)
    return [problem.saw for problem in error.value.problems]


FORMS = {
    "node[1-2]": [("node1", "node1", 8), ("node2", "node2", 8)],
    "node[1-2],gpu7": [("node1", "node1", 8), ("node2", "node2", 8), ("gpu7", "gpu7", 8)],
    "10.0.0.[1-2]": [("10.0.0.1", "10.0.0.1", 8), ("10.0.0.2", "10.0.0.2", 8)],
    "localhost": [("localhost", "127.0.0.1", 8)],
    "a.b.example.org": [("a.b.example.org", "a.b.example.org", 8)],
    '"FD00::0:1"': [("ip6-fd00--1", "fd00::1", 8)],
    "[a, b]": [("a", "a", 8), ("b", "b", 8)],
    '["a[1-2]", {name: c, address: 10.0.0.9, gpus: 4}]': [
        ("a1", "a1", 8),
        ("a2", "a2", 8),
        ("c", "10.0.0.9", 4),
    ],
    "{name: a, gpus: 2}": [("a", "a", 2)],
    "{address: 10.0.0.9}": [("10.0.0.9", "10.0.0.9", 8)],
    '{name: "n[1-2]", address: "10.0.0.[4-5]"}': [("n1", "10.0.0.4", 8), ("n2", "10.0.0.5", 8)],
    "{a: 10.0.0.1, b: {address: 10.0.0.2, gpus: 4}, c: }": [
        ("a", "10.0.0.1", 8),
        ("b", "10.0.0.2", 4),
        ("c", "c", 8),
    ],
    "[{name: 01, address: x}]": [("01", "x", 8)],
}


@pytest.mark.parametrize("nodes", FORMS)
def test_forms(nodes):
    run = run_of(nodes)
    assert brief(run) == FORMS[nodes]
    assert [node.rank for node in run.cluster.nodes] == list(range(len(run.cluster.nodes)))


def test_all_keys_of_a_node():
    text = "{name: a, address: bob@10.0.0.1, interface: ib0, port: 2222, labels: {rack: r1}, env: {X: 1.10, Y: ''}}"
    (node,) = run_of(text).cluster.nodes
    assert (node.user, node.interface, node.port) == ("bob", "ib0", 2222)
    assert node.labels == (("rack", "r1"),)
    assert node.env == (("X", "1.10"), ("Y", ""))


def test_users():
    run = run_of('["u@a[1-2],b", {name: c, user: w}]', "user: everyone")
    assert [node.user for node in run.cluster.nodes] == ["u", "u", None, "w"]
    assert run.user == "everyone"


def test_an_active_directory_user_keeps_his_domain():
    assert run_of("u.v@corp.com@host").cluster.nodes[0].user == "u.v@corp.com"


def test_a_block_of_names_with_ranges():
    run = loads("gpus: 2\ntrain: {command: [a.py]}\nnodes:\n  node[1-2]: {gpus: 8}\n  big: {gpus: 16}\n")
    assert brief(run) == [("node1", "node1", 8), ("node2", "node2", 8), ("big", "big", 16)]
    assert run.cluster.world_size == 32


def test_same_host_puts_names_on_this_machine():
    run = run_of("node-[0-2]", "same_host: true")
    assert brief(run) == [(f"node-{n}", "127.0.0.1", 8) for n in range(3)]
    assert run.launch.with_ == "local"


def test_same_host_on_another_machine_stays_ssh():
    run = run_of("[{name: a, address: gpu1}, {name: b, address: gpu1}]", "same_host: true")
    assert brief(run) == [("a", "gpu1", 8), ("b", "gpu1", 8)]
    assert run.launch.with_ == "ssh"


def test_this_machine_alone_needs_no_ssh():
    assert run_of("localhost").launch.with_ == "local"
    assert run_of("node[1-2]").launch.with_ == "ssh"


def test_a_tunnel_on_this_machine_is_reached_by_ssh():
    text = "[{name: a, address: 127.0.0.1, port: 2201}, {name: b, address: 127.0.0.1, port: 2202}]"
    run = run_of(text)
    assert run.launch.with_ == "ssh"


def test_a_number_of_nodes_for_launchers_that_choose_them():
    run = run_of("3", "launch: {with: slurm}")
    assert run.cluster.world_size == 24
    assert not run.nodes_known
    assert run_of("node[1-2]", "launch: {with: slurm}").nodes_known
    assert problems_of("3") == ["nodes: 3 is a number, not machines."]


def test_the_nodes_of_a_slurm_job(monkeypatch):
    monkeypatch.setenv("SLURM_JOB_NODELIST", "gpu[01-02]")
    assert brief(run_of("$SLURM_JOB_NODELIST")) == [("gpu01", "gpu01", 8), ("gpu02", "gpu02", 8)]
    monkeypatch.delenv("SLURM_JOB_NODELIST")
    monkeypatch.delenv("SLURM_NODELIST", raising=False)
    assert problems_of("$SLURM_JOB_NODELIST") == ["nodes: $SLURM_JOB_NODELIST is not set."]


HOSTILE = [
    "-oProxyCommand=id",
    "x;id",
    "x|id",
    "x&id",
    "$(id)",
    "`id`",
    "x>y",
    "x y",
    "x\ty",
    "x\ny",
    "x\x1b[31m",
    "x'y",
    'x"y',
    "x\\y",
    "x*",
    "x?y",
    "~x{a}",
    "!x",
    "#x",
    "é.example",
    "x\u202ey",
    "x%0a",
    "u@",
    "@x",
    "-u@x",
    "u v@x",
    "u;v@x",
    ":22",
    "x:22",
    "fe80::1%;id",
    "1.2.3",
    "1.2.3.256",
    "1.2.3.04",
    "12345",
    "x" * 254,
    "$HOME",
]


@pytest.mark.parametrize("host", HOSTILE)
def test_hostile_hosts_are_refused(host):
    text = quoted(host)
    quotes = text if text[0] == '"' else f'"{text}"'
    for form in ("{}", "[{}]", "{{name: a, address: {}}}", "{{a: {}}}"):
        (saw,) = problems_of(form.format(quotes))
        assert saw.startswith("nodes")
        assert saw.isprintable()


@pytest.mark.parametrize("name", ["-x", "../x", "a/b", ".hidden", "a b", "", "x" * 64, "a\x00b", "a:b", "é"])
def test_a_name_that_would_leave_its_folder_is_refused(name):
    with pytest.raises(BadInput):
        run_of(f"{{name: {quoted(name)}, address: x}}")


def test_nodes_that_stand_there_twice():
    assert problems_of("a,b,a") == ["nodes: a is here twice (node ranks 0 and 2)."]
    assert problems_of("[a, {name: b, address: a}]") == ["nodes: a and b both have the address a."]
    assert problems_of("[{name: a, address: X.lan}, {name: b, address: x.lan}]") == [
        "nodes: a (X.lan) and b (x.lan) are one machine."
    ]
    assert problems_of("[127.0.0.1, {name: b, address: 127.0.0.2}]") == [
        "nodes: 127.0.0.1 (127.0.0.1) and b (127.0.0.2) are one machine."
    ]
    assert problems_of("a,b,a", "same_host: true") == ["nodes: a is here twice (node ranks 0 and 2)."]


def test_this_machine_among_others_is_hidden_from_them():
    assert problems_of("[localhost, b]") == [
        "nodes: localhost is 127.0.0.1, but the run has other machines, too."
    ]


def test_every_wrong_node_is_named_with_its_line():
    text = "train: {command: [a.py]}\nnodes:\n  - -x\n  - good\n  - {name: b, adress: c}\n"
    text += "  - {name: d, gpus: 0}\n  - [e]\n"
    with pytest.raises(BadInput) as error:
        loads(text, "run.yaml")
    assert [(p.line, p.saw) for p in error.value.problems] == [
        (3, "nodes: -x begins with a dash."),
        (5, "nodes.adress: unknown key."),
        (6, "nodes.gpus: 0 is not a number of GPUs."),
        (7, "nodes: this is a list."),
    ]


def test_other_wrong_forms():
    assert problems_of("[]") == ["nodes: a list without a node."]
    assert problems_of("") == ["nodes: missing."]
    assert problems_of("{}") == ["nodes: a mapping without a node."]
    assert problems_of("'node1 node2'") == ["nodes: node1 node2 holds spaces."]
    assert problems_of('{name: "a[1-3]", address: "b[1-2]"}') == ["nodes: 3 names and 2 addresses."]
    assert problems_of("{gpus: 3}") == ["nodes: a node without a name."]
    assert problems_of("node[1-99999999]") == ["nodes: node[1-99999999] means more than 16,384 nodes."]


def test_a_hostfile_beside_the_run_file(tmp_path):
    (tmp_path / "hosts").write_text("node1 slots=4 ib0\nnode2\n")
    file = str(tmp_path / "run.yaml")
    for form in ("hosts", "./hosts", str(tmp_path / "hosts")):
        run = run_of(form, file=file)
        assert brief(run) == [("node1", "node1", 4), ("node2", "node2", 8)]
        assert run.cluster.head.interface == "ib0"


def test_what_is_wrong_in_a_hostfile_is_said_with_its_line(tmp_path):
    (tmp_path / "hosts").write_text("node1 slots=4\n\nnode2 slot=4\n")
    with pytest.raises(BadInput) as error:
        run_of("./hosts", "port: 1", file=str(tmp_path / "run.yaml"))
    places = [(p.file, p.line) for p in error.value.problems]
    assert places == [(str(tmp_path / "run.yaml"), 4), (str(tmp_path / "hosts"), 3)]


def test_a_hostfile_that_is_not_there(tmp_path):
    file = str(tmp_path / "run.yaml")
    assert problems_of("hostfile", file=file) == ["nodes: hostfile: no such file beside the run file."]
    assert problems_of("./hosts", file=file) == [f"nodes: {tmp_path}/hosts: file not found."]
    assert problems_of("/", file=file) == ["nodes: /: a folder, not a file."]
