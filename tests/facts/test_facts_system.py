"""System, storage, network, software and firewall: recorded files in, facts out; and this machine itself."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import socket
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from allranks.node import facts
from allranks.node.facts import (
    _commands,
    _ports,
    firewall,
    leftovers,
    libraries,
    network,
    software,
    storage,
    system,
)
from allranks.node.facts._reading import Unreadable


def is_json(value: object) -> bool:
    """What a collector sends comes out as it went in, but for tuples."""
    text = json.dumps(value)
    return json.dumps(json.loads(text)) == text


MEMINFO = (
    "MemTotal:       24684084 kB\nMemFree: 1 kB\nMemAvailable:   20000000 kB\nHugePages_Total:       3\n"
)


def test_meminfo():
    found = system.parse_meminfo(MEMINFO)
    assert found["total_bytes"] == 24684084 * 1024 and found["available_bytes"] == 20000000 * 1024
    assert found["hugepages"] == 3
    with pytest.raises(Unreadable):
        system.parse_meminfo("nothing\n")


def test_os_release():
    text = 'NAME="Ubuntu"\nID=ubuntu\nVERSION_ID="22.04"\nPRETTY_NAME="Ubuntu 22.04.5 LTS"\n'
    assert system.parse_os_release(text) == {"id": "ubuntu", "version": "22.04", "name": "Ubuntu 22.04.5 LTS"}
    with pytest.raises(Unreadable):
        system.parse_os_release("\n")


def test_the_tightest_memory_limit_counts():
    assert system.parse_memory_limits(["max", "8589934592", "9223372036854771712", "4294967296"]) == 4 << 30
    assert system.parse_memory_limits(["max", "9223372036854771712"]) is None


def test_mounts_with_spaces_and_optional_fields():
    text = (
        "21 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n"
        "40 21 0:35 / /mnt/my\\040disk rw,noatime - nfs4 nas:/a\\040b rw,vers=4.2\n"
        "garbage\n"
    )
    mounts = storage.parse_mounts(text)
    assert (
        mounts[1]["mount"] == "/mnt/my disk"
        and mounts[1]["source"] == "nas:/a b"
        and mounts[1]["type"] == "nfs4"
    )
    assert storage.mount_of("/mnt/my disk/x", mounts)["type"] == "nfs4"
    assert storage.mount_of("/mnt/my disk2", mounts)["type"] == "ext4"
    assert storage.mount_of("/x", []) == {}


def test_the_last_of_two_mounts_on_one_point_counts():
    mounts = storage.parse_mounts("1 0 0:1 / /a rw - ext4 x rw\n2 0 0:2 / /a rw - tmpfs y rw\n")
    assert storage.mount_of("/a/b", mounts)["type"] == "tmpfs"


def test_a_folder_that_is_not_there_is_judged_by_its_parent(tmp_path):
    found = storage.read_path(str(tmp_path / "a" / "b"))
    assert found["exists"] is False and found["looked_at"] == str(tmp_path) and found["writable"] is True
    assert found["free_bytes"] > 0 and os.listdir(tmp_path) == [], "the trial left a file behind"


def test_a_file_in_place_of_a_folder_is_not_writable(tmp_path):
    (tmp_path / "file").write_text("x")
    found = storage.read_path(str(tmp_path / "file" / "runs"))
    assert found["writable"] is False and "Not a directory" in found["reason"]


def test_the_safetensors_index():
    index = {"weight_map": {"a": "one.safetensors", "b": "two.safetensors"}, "metadata": {"total_size": 10}}
    found = storage.parse_index(index, {"one.safetensors": 3})
    assert found == {"shards": 2, "tensors": 2, "missing": ["two.safetensors"], "tensor_bytes": 10}
    assert "index_trouble" in storage.parse_index({}, {})
    assert "index_trouble" in storage.parse_index([], {})


def safetensors(path, tensor_bytes: int, cut: int = 0):
    header = json.dumps(
        {"a": {"dtype": "U8", "shape": [tensor_bytes], "data_offsets": [0, tensor_bytes]}}
    ).encode()
    path.write_bytes((struct.pack("<Q", len(header)) + header + bytes(tensor_bytes))[: -cut or None])


def test_a_model_folder(tmp_path):
    (tmp_path / "config.json").write_text('{"model_type": "x"}')
    safetensors(tmp_path / "model.safetensors", 100)
    found = storage.read_model(str(tmp_path))
    assert found["exists"] and found["config"] == {"model_type": "x"} and found["cut_short"] == []
    safetensors(tmp_path / "model.safetensors", 100, cut=1)
    assert storage.read_model(str(tmp_path))["cut_short"] == ["model.safetensors"]
    (tmp_path / "model.safetensors").write_bytes(b"version https://git-lfs.github.com/spec/v1\n")
    assert storage.read_model(str(tmp_path))["cut_short"] == ["model.safetensors"], (
        "a pointer of Git LFS is no model"
    )
    (tmp_path / "config.json").write_text("[1]")
    assert storage.read_model(str(tmp_path))["config_trouble"] == "it is not a JSON object"
    (tmp_path / "config.json").write_bytes(b"{" * (2 << 20))
    assert "larger than" in str(storage.read_model(str(tmp_path))["config_trouble"])
    assert storage.read_model(str(tmp_path / "none")) == {"path": str(tmp_path / "none"), "exists": False}


@given(st.binary(max_size=200))
def test_no_safetensors_header_breaks_the_reader(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("st") / "x.safetensors"
    path.write_bytes(data)
    wanted = storage.safetensors_bytes(str(path))
    assert wanted is None or wanted >= 8 + int.from_bytes(data[:8], "little")


def test_the_dataset(tmp_path):
    info = {
        "here": {"file_name": "here.json"},
        "gone": {"file_name": "gone.json"},
        "hub": {"hf_hub_url": "a/b"},
    }
    (tmp_path / "dataset_info.json").write_text(json.dumps(info))
    (tmp_path / "here.json").write_text("[]")
    found = storage.read_dataset(str(tmp_path), ["here", "gone", "hub", "nosuch"])
    assert found["entries"]["here"]["exists"] and not found["entries"]["gone"]["exists"]
    assert found["entries"]["hub"] == {"file": None} and found["unknown"] == ["nosuch"]
    (tmp_path / "dataset_info.json").write_text("{")
    assert "trouble" in storage.read_dataset(str(tmp_path), ["here"])


def test_listening_sockets_and_ipv6_addresses():
    text = (
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
        "   0: 00000000:9A4C 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4711 1 0 100 0\n"
        "   1: 0100007F:9A4C 0100007F:0001 01 00000000:00000000 00:00000000 00000000     0        0 12 1 0 100 0\n"
        "   2: broken\n"
    )
    assert _ports.parse_listening(text) == [{"port": 39500, "uid": 1000, "inode": 4711}]
    assert _ports.parse_local_ports(text) == {39500}
    row = "fe8000000000000000fc00fffe000001 02 40 20 80     eth0\nbroken line\n"
    assert network.parse_if_inet6(row) == [("eth0", "fe80::fc:ff:fe00:1/64")]


def test_the_kernels_list_of_interfaces_is_read():
    entry = struct.pack("16sH2s4s16s", b"eth0:1", socket.AF_INET, b"", socket.inet_aton("10.0.0.7"), b"")
    assert network.parse_ifconf(entry) == [("eth0:1", "10.0.0.7")]
    assert network.parse_ifconf(entry[:30]) == []


def test_a_held_port_names_its_holder(home):
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        found = _ports.read_ports([port])[str(port)]
        assert found["free"] is False and found["held_by"][0]["pid"] == os.getpid()
        assert found["held_by"][0]["run"] is None
        told = {one["port"]: one["held_by"] for one in _ports.listening(_ports.read_listeners())["sockets"]}
        assert [one["pid"] for one in told[port]] == [os.getpid()]
    assert _ports.read_ports([port])[str(port)]["free"] is True


def test_the_holder_is_ours_where_a_run_directory_says_so(home):
    from allranks.node import paths, processes

    run = paths.RunDirectory("0902-a", str(home))
    run.create("node-0")
    me = processes.record_of(processes.identify("node-0", "0902-a"))
    paths.write_json(run.node("node-0").supervisor, me)
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        assert _ports.read_ports([port])[str(port)]["held_by"][0]["run"] == "0902-a"
    found = facts.collect({"families": ["leftovers"]}).values["leftovers"]["runs"]
    assert [(one["run"], one["supervisor"]) for one in found] == [("0902-a", os.getpid())]
    paths.write_json(run.node("node-0").supervisor, {**me, "start_time": me["start_time"] - 1})
    assert facts.collect({"families": ["leftovers"]}).values["leftovers"]["runs"] == [], (
        "a recycled pid is nobody"
    )


def test_many_listening_sockets_are_counted_beyond_a_limit():
    many = [{"port": port, "uid": 0, "inode": -port} for port in range(1, 1000)]
    told = _ports.listening(many)
    assert len(told["sockets"]) == _ports.MOST_LISTENING and told["more"] == 999 - _ports.MOST_LISTENING
    assert told["sockets"][0] == {
        "port": 1,
        "held_by": [{"pid": None, "uid": 0, "name": None, "run": None, "age_seconds": None}],
    }


@pytest.mark.parametrize(
    ("argv", "launcher"),
    [
        (["/opt/venv/bin/python3", "/opt/venv/bin/torchrun", "--nnodes=3", "train.py"], "torchrun"),
        (["/usr/bin/torchrun", "train.py"], "torchrun"),
        (["python", "-u", "-m", "torch.distributed.run", "train.py"], "torchrun"),
        (
            ["python3.11", "-X", "faulthandler", "-W", "ignore", "/x/bin/deepspeed", "--hostfile", "h"],
            "deepspeed",
        ),
        (["python", "-m", "deepspeed.launcher.launch"], "deepspeed"),
        (["python", "-c", "import torchrun"], None),
        (["python", "train.py", "torchrun"], None),
        (["less", "torchrun"], None),
        (["python", "-m"], None),
        (["python"], None),
        ([], None),
    ],
)
def test_a_launcher_is_known_by_the_program_that_runs_alone(argv, launcher):
    assert leftovers.launcher_of(argv) == launcher


def test_a_launcher_of_somebody_else_is_told_and_one_of_a_run_is_not(home, tmp_path):
    from allranks.node import paths, processes

    script = tmp_path / "torchrun"
    script.write_text("import time\nprint('up', flush=True)\ntime.sleep(600)\n")
    process = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None and process.stdout.readline() == b"up\n"
        found = [one for one in leftovers.others() if one["pid"] == process.pid]
        assert [(one["launcher"], one["uid"], one["run"]) for one in found] == [
            ("torchrun", os.getuid(), None)
        ]
        run = paths.RunDirectory("0902-a", str(home))
        run.create("node-0")
        ours = processes.record_of(processes.identify("node-0", "0902-a"))
        ours.update(pid=process.pid, start_time=processes.start_time(process.pid))
        paths.write_json(run.node("node-0").supervisor, ours)
        assert process.pid not in [one["pid"] for one in leftovers.others()]
        assert process.poll() is None
    finally:
        process.kill()
        process.communicate()


def test_routes_and_names():
    interfaces = network.read_interfaces()
    assert interfaces["lo"]["loopback"] and "127.0.0.1/8" in interfaces["lo"]["addresses"]
    assert network.route("127.0.0.1", interfaces)["interface"] == "lo"
    found = network.resolve(["localhost", "no-such-name.invalid", "127.0.0.1", "\0"])
    assert found["localhost"]["addresses"] and found["no-such-name.invalid"]["reason"]
    assert "127.0.0.1" not in found, "an address needs no resolver"


def test_versions_by_metadata_without_importing_torch(home):
    found = facts.collect({"families": ["software"], "python": sys.executable})
    assert found.get("software.python.executable")
    assert found.get("software.versions.torch") is None or "2." in found.get("software.versions.torch")
    assert found.values["collection"]["families"]["software"] < 10
    missing = facts.collect({"families": ["software"], "python": "/nowhere/python"})
    assert missing.why_unreadable("software.python") == "/nowhere/python is not installed"
    assert not missing.get("software.versions")


def test_requirements_and_cuda_of_the_answer():
    answer = {
        "requires": {"llamafactory": ["transformers<=5.6.0", "gradio", 7]},
        "torch_build": {"cuda": "12.8"},
    }
    assert software.parse_requires(answer) == {"llamafactory": ["transformers<=5.6.0"]}
    assert (
        software.torch_cuda(answer) == "12.8"
        and software.torch_cuda({"torch_build": {"cuda": "None"}}) is None
    )
    assert (
        software.parse_versions({"versions": {"torch": "2.13.0", "nvidia-nccl-cu12": "2.30.7"}})["torch"]
        == "2.13.0"
    )
    assert software.parse_nvcc("Cuda compilation tools, release 12.8, V12.8.93") == "12.8"


@pytest.mark.rig
def test_each_address_of_an_interface_has_its_own_mask():
    """In a network namespace of its own."""
    told = (
        "import json; from allranks.node.facts import network; print(json.dumps(network.read_interfaces()))"
    )
    script = (
        "ip link set lo up; ip addr add 10.1.2.3/24 dev lo; ip addr add 10.9.0.1/16 dev lo; "
        f"ip addr add 10.7.0.1/30 dev lo label lo:b; exec {shlex.quote(sys.executable)} -c {shlex.quote(told)}"
    )
    done = subprocess.run(["unshare", "-n", "sh", "-c", script], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    found = [one for one in json.loads(done.stdout)["lo"]["addresses"] if "." in one]
    assert sorted(found) == ["10.1.2.3/24", "10.7.0.1/30", "10.9.0.1/16", "127.0.0.1/8"]


def test_iptables_rules():
    text = (
        "-P INPUT DROP\n-A INPUT -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT\n-A INPUT -i lo -j ACCEPT\n"
        "-A INPUT -p tcp -m tcp --dport 22 -j ACCEPT\n"
        "-A INPUT -p tcp -m multiport --dports 39500,29500:29600 -j ACCEPT\n"
        "-A INPUT -s 10.0.0.0/24 -j ACCEPT\n-A INPUT -j ufw-before-input\n"
    )
    found = firewall.parse_iptables(text)
    assert found["policy"] == "drop" and found["everything_from"] == ["interface lo", "10.0.0.0/24"]
    assert found["ports"] == ["22", "39500", "29500:29600", "chain ufw-before-input"]
    assert firewall.parse_iptables("-P INPUT ACCEPT\n-A INPUT -j REJECT\n")["rejects"] is True


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("-j DROP", {"rejects": True}),
        ("-j REJECT --reject-with icmp-port-unreachable", {"rejects": True}),
        ("-m conntrack --ctstate NEW -j DROP", {"rejects": True}),
        ('-m comment --comment "the -s 10.0.0.1 of old" -j DROP', {"rejects": True}),
        ("-p tcp -m tcp --tcp-flags SYN,RST SYN,RST -j DROP", {}),
        ("-p udp -j DROP", {}),
        ("! -s 10.0.0.0/8 -j DROP", {}),
        ("-m conntrack --ctstate INVALID -j DROP", {}),
        ("-m limit --limit 5/min -j DROP", {}),
        ("-p udp -j ACCEPT", {}),
        ("-p icmp -j ACCEPT", {}),
        ("-p udp -m udp --dport 39500 -j ACCEPT", {}),
        ("-m pkttype --pkt-type multicast -j ACCEPT", {}),
        ("-d 224.0.0.251/32 -j ACCEPT", {}),
        ("-j ACCEPT", {"everything_from": ["anywhere"]}),
        ("-p tcp -j ACCEPT", {"everything_from": ["anywhere"]}),
        ('-s 10.0.0.0/24 -m comment --comment "my nodes" -j ACCEPT', {"everything_from": ["10.0.0.0/24"]}),
        ("-i ib0 -j ACCEPT", {"everything_from": ["interface ib0"]}),
        ("-s 10.0.0.0/24 -i ib0 -j ACCEPT", {}),
        ("-p tcp -m state --state NEW -m tcp --dport 22 -j ACCEPT", {"ports": ["22"]}),
        ('-m comment --comment "an open quote -j DROP', {}),
        ("-g IN_public", {"ports": ["chain IN_public"]}),
    ],
)
def test_what_an_iptables_rule_says_of_a_new_tcp_connection(rule, expected):
    found = firewall.parse_iptables(f"-P INPUT ACCEPT\n-A INPUT {rule}\n")
    assert found == {**firewall.unfiltered(), "chains": 1, **expected}


def test_nft_rules():
    chain = {"family": "inet", "table": "filter", "name": "input", "hook": "input", "policy": "drop"}
    dport = {"payload": {"protocol": "tcp", "field": "dport"}}
    saddr = {"payload": {"protocol": "ip", "field": "saddr"}}

    def rule(*expressions):
        return {"rule": {"family": "inet", "table": "filter", "chain": "input", "expr": list(expressions)}}

    ports = {"set": [22, {"range": [29500, 29600]}]}
    entries = [
        {"metainfo": {}},
        {"chain": chain},
        rule({"match": {"left": dport, "right": ports}}, {"accept": None}),
        rule({"match": {"left": saddr, "right": "10.0.0.5"}}, {"accept": None}),
        rule(
            {"match": {"left": saddr, "right": {"prefix": {"addr": "10.1.0.0", "len": 24}}}}, {"accept": None}
        ),
        rule(
            {
                "match": {
                    "left": saddr,
                    "right": {"set": ["10.2.0.1", {"prefix": {"addr": "10.3.0.0", "len": 16}}]},
                }
            },
            {"accept": None},
        ),
        rule({"match": {"op": "!=", "left": saddr, "right": "10.4.0.1"}}, {"accept": None}),
        # what iptables-nft writes for RELATED,ESTABLISHED
        rule({"xt": {"type": "match", "name": "conntrack"}}, {"counter": {}}, {"accept": None}),
        rule(
            {"xt": {"type": "match", "name": "comment"}},
            {"match": {"left": saddr, "right": "10.5.0.1"}},
            {"accept": None},
        ),
        rule({"match": {"left": {"meta": {"key": "iifname"}}, "op": "==", "right": "ib*"}}, {"accept": None}),
        rule({"match": {"left": {"meta": {"key": "iifname"}}, "op": "!=", "right": "ib1"}}, {"accept": None}),
        rule({"xt": {"type": "match", "name": "addrtype"}}, {"jump": {"target": "KUBE"}}),
        rule({"drop": None}),
    ]
    found = firewall.parse_nft(json.dumps({"nftables": entries}))
    assert found == {
        "policy": "drop",
        "chains": 1,
        "rejects": True,
        "ports": ["22", "29500:29600", "chain"],
        "everything_from": [
            *("10.0.0.5", "10.1.0.0/24", "10.2.0.1", "10.3.0.0/16", "10.5.0.1"),
            "interface ib*",
        ],
    }
    with pytest.raises(Unreadable):
        firewall.parse_nft("table inet filter {")


def test_nfs_exports():
    text = "# comment\n/shared *(rw,no_root_squash) 10.0.0.0/24(ro)\n/x\n"
    found = firewall.parse_exports(text)
    assert found[0] == {"path": "/shared", "client": "*", "options": "rw,no_root_squash"} and len(found) == 2


def test_names_in_binaries(tmp_path):
    path = tmp_path / "libnccl.so.2"
    block = b"\0NCCL_IB_TIMEOUT\0xNCCL_NOT_THIS\0NCCL_\0" + b"\0" * libraries.BLOCK_BYTES
    path.write_bytes(block[: libraries.BLOCK_BYTES - 8] + b"\0NCCL_ACROSS_BLOCKS\0")
    assert libraries.names_in(str(path)) == ["NCCL_ACROSS_BLOCKS", "NCCL_IB_TIMEOUT"]


@example("-P INPUT ")
@example("-A INPUT -j")
@given(st.text(max_size=300))
def test_no_text_breaks_a_parser(text):
    for parse in (
        system.parse_cpu_model,
        storage.parse_mounts,
        _ports.parse_listening,
        network.parse_if_inet6,
        firewall.parse_iptables,
        firewall.parse_exports,
    ):
        json.dumps(parse(text))
    assert all(0 <= port < 65536 for port in _ports.parse_local_ports(text))
    for parse in (system.parse_meminfo, system.parse_os_release, firewall.parse_nft, software.parse_nvcc):
        try:
            parse(text)
        except Unreadable as error:
            assert str(error)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(values)
def test_no_answer_of_the_training_python_breaks_a_parser(answer):
    answer = (
        answer if isinstance(answer, dict) else {"versions": answer, "requires": answer, "folders": answer}
    )
    for parse in (software.parse_versions, software.parse_requires, software.launcher, software.torch_cuda):
        assert is_json(parse(answer))
    assert is_json(storage.parse_index(answer, {}))
    assert is_json(storage.parse_dataset_info(answer, ["a"]))


def test_a_program_is_found_as_shutil_finds_it(tmp_path, monkeypatch):
    for folder, mode in (("a", 0o644), ("b", 0o755)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "tool").write_text("")
        (tmp_path / folder / "tool").chmod(mode)
    (tmp_path / "c" / "tool").mkdir(parents=True)
    path = os.pathsep.join(str(tmp_path / name) for name in ("c", "a", "none", "b"))
    for name in ("tool", "nothing", str(tmp_path / "b" / "tool"), str(tmp_path / "a" / "tool")):
        assert _commands.which(name, path) == shutil.which(name, path=path)
    monkeypatch.setenv("PATH", path)
    assert _commands.which("tool") == str(tmp_path / "b" / "tool")


LFS = """#!/bin/sh
[ "$1 $2" = "getstripe --stripe-count" ] || exit 2
case $3 in *1.safetensors) echo 4 ;; *) echo "no such thing" >&2; exit 1 ;; esac
"""


def test_on_lustre_the_stripes_of_the_weights_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lfs").write_text(LFS)
    (tmp_path / "lfs").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    files = {"model-1.safetensors": 5, "model-2.safetensors": 4, "config.json": 9}
    assert "stripes" not in storage.read_stripes(str(tmp_path), files)
    monkeypatch.setattr(storage, "mount_of", lambda path, mounts: {"type": "lustre"})
    found = storage.read_stripes(str(tmp_path), files)
    assert found == {"type": "lustre", "stripes": {"model-1.safetensors": 4}}
    (tmp_path / "lfs").unlink()
    assert storage.read_stripes(str(tmp_path), files) == {"type": "lustre", "stripes": {}}


@pytest.mark.parametrize(
    ("variables", "found"),
    [
        ({}, "path"),  # as torch: PATH before /usr/local/cuda
        ({"CUDA_HOME": "home"}, "home"),
        ({"CUDA_PATH": "home"}, "home"),
        ({"CUDA_HOME": "nowhere"}, None),
    ],
)
def test_nvcc_is_the_one_that_torch_takes(tmp_path, monkeypatch, variables, found):
    for name in ("path", "home/bin"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "nvcc").write_text(
            "#!/bin/sh\necho 'Cuda compilation tools, release 12.8, V12.8.61'\n"
        )
        (tmp_path / name / "nvcc").chmod(0o755)
    env = {name: str(tmp_path / value) for name, value in variables.items()}
    told = software.nvcc({"python": sys.executable, "env": {"PATH": str(tmp_path / "path"), **env}})
    place = {"path": tmp_path / "path" / "nvcc", "home": tmp_path / "home" / "bin" / "nvcc"}
    assert (told and told["path"]) == (str(place[found]) if found else None)


@pytest.mark.parametrize(
    ("namespace", "variables", "kind"),
    [
        ("pid:[4026531836]", {}, None),
        ("", {}, None),
        ("pid:[4026532001]", {}, "container"),
        ("pid:[4026532001]", {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, "pod"),
        ("pid:[4026531836]", {"container": "lxc"}, "lxc"),
    ],
)
def test_a_container_without_a_mark_shows_in_its_pids(monkeypatch, namespace, variables, kind):
    monkeypatch.setattr(system.os.path, "exists", lambda path: False)
    monkeypatch.setattr(system.os.path, "isdir", lambda path: False)
    for name in ("APPTAINER_CONTAINER", "SINGULARITY_CONTAINER", "container", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(system.procfs, "pid_namespace", lambda: namespace)
    assert system.container() == kind
