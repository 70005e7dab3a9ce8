"""The SSH transport against real sshds: host keys, and one name for each way in which a node fails."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.rig.rig import STATE, Rig, address, only_one

pytestmark = pytest.mark.rig
ASK = Path(__file__).parent / "ask.py"


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with only_one(), Rig(4) as rig:
        yield rig


@pytest.fixture(params=["asyncssh", "openssh"])
def transport(request: pytest.FixtureRequest) -> str:
    return request.param


def ask(
    rig: Rig, nodes: list[dict], argv: list[str], environment: dict[str, str] | None = None, **more
) -> dict[str, dict]:
    wanted = {
        "config": str(STATE / "ssh_config"),
        "nodes": nodes,
        "argv": argv,
        **more,
    }
    done = subprocess.run(
        rig.from_ctl(
            ["env", *(f"{k}={v}" for k, v in (environment or {}).items()), sys.executable, str(ASK)]
        ),
        input=json.dumps(wanted),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return {answer["node"]: answer for answer in json.loads(done.stdout)}


def node(number: int, **more) -> dict:
    return {"name": f"node{number}", "address": address(number), **more}


def config(folder: Path, *lines: str, identity: str = "", known_hosts: Path | None = None) -> str:
    """An ssh configuration of a test's own."""
    common = ["Host *", "  User root", f"  UserKnownHostsFile {known_hosts or STATE / 'known_hosts'}"]
    common += ["  GlobalKnownHostsFile /dev/null", *([f"  IdentityFile {identity}"] if identity else [])]
    path = folder / "ssh_config"
    path.write_text("\n".join([*lines, *common, ""]))
    return str(path)


def test_hostile_words_arrive_as_they_are(rig: Rig, transport: str) -> None:
    words = ["a b", "$HOME", "`id`", "x;y", "'\"", "*", "", "-n", "new\nline"]
    script = "import sys, json; print(json.dumps([sys.argv[1:], sys.stdin.read()]))"
    answer = ask(rig, [node(1)], ["python3", "-c", script, *words], transport=transport)["node1"]
    assert json.loads(answer["out"]) == [words, "in\n"]


def keys_in(folder: Path, known: Path) -> dict[str, str]:
    """Both transports with this file of known hosts."""
    return {"config": config(folder, identity=f"{STATE}/keys/client", known_hosts=known)}


def test_an_unknown_host_key_is_refused_with_its_fingerprint(
    rig: Rig, tmp_path: Path, transport: str
) -> None:
    empty = tmp_path / "known"
    answer = ask(rig, [node(1)], ["true"], transport=transport, **keys_in(tmp_path, empty))["node1"]
    assert answer["cause"] == "host-key-unknown"
    public = subprocess.run(
        ["ssh-keygen", "-lf", STATE / "keys" / "host1.pub"], capture_output=True, text=True
    )
    listed = (
        public.stdout
        or subprocess.run(
            ["ssh-keygen", "-lf", STATE / "keys" / "host.pub"], capture_output=True, text=True, check=True
        ).stdout
    )
    assert listed.split()[1] in answer["text"] and "--accept-new-hosts" in answer["text"]
    assert not empty.exists() or not empty.read_text()


def test_a_new_host_key_is_pinned_once_and_then_holds(rig: Rig, tmp_path: Path, transport: str) -> None:
    known = tmp_path / "known"
    keys = keys_in(tmp_path, known)
    first = ask(rig, [node(1)], ["hostname"], transport=transport, accept_new=True, **keys)["node1"]
    assert first["out"] == "node1\n"
    lines = known.read_text().splitlines()
    again = ask(rig, [node(1)], ["hostname"], transport=transport, **keys)["node1"]
    assert again["out"] == "node1\n"
    assert known.read_text().splitlines() == lines


def test_a_changed_host_key_blocks_even_when_new_ones_are_accepted(
    rig: Rig, tmp_path: Path, transport: str
) -> None:
    other = tmp_path / "other"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(other)], check=True)
    known = tmp_path / "known"
    known.write_text(f"{address(1)} {' '.join(other.with_suffix('.pub').read_text().split()[:2])}\n")
    keys = keys_in(tmp_path, known)
    answer = ask(rig, [node(1)], ["true"], transport=transport, accept_new=True, **keys)["node1"]
    assert answer["cause"] == "host-key-changed"


@pytest.mark.parametrize("known_again", [True, False], ids=["known", "changed"])
def test_after_an_idle_master_the_host_key_is_verified_again(
    rig: Rig, tmp_path: Path, known_again: bool
) -> None:
    """The user's own file trusts any key, as clusters' do."""
    other = tmp_path / "other"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(other)], check=True)
    known, changed = tmp_path / "known", tmp_path / "changed"
    known.write_text(f"{address(1)} {' '.join((STATE / 'keys' / 'host.pub').read_text().split()[:2])}\n")
    changed.write_text(f"{address(1)} {' '.join(other.with_suffix('.pub').read_text().split()[:2])}\n")
    trusting = config(
        tmp_path, "StrictHostKeyChecking no", identity=f"{STATE}/keys/client", known_hosts=known
    )
    swap = [] if known_again else ["cp", str(changed), str(known)]
    more = {"transport": "openssh", "config": trusting, "times": 2, "end_masters": swap or ["true"]}
    answer = ask(rig, [node(1)], ["hostname"], **more)["node1"]
    if known_again:
        assert answer.get("out") == "node1\n", answer
    else:
        assert answer.get("cause") == "host-key-changed", answer


def test_a_node_behind_another_is_reached_through_it(rig: Rig, tmp_path: Path, transport: str) -> None:
    hidden = ["-p", "tcp", "--dport", "22", "-s", "10.77.255.254", "-j", "DROP"]
    rig.run(2, ["iptables", "-A", "INPUT", *hidden])
    try:
        lines = ["Host hidden", f"  HostName {address(2)}", "  ProxyJump node1"]
        wanted = config(tmp_path, *lines, identity=f"{STATE}/keys/client")
        home = tmp_path / ".ssh"
        home.mkdir(mode=0o700)
        (home / "config").write_text(Path(wanted).read_text())
        answer = ask(
            rig,
            [{"name": "hidden", "address": "hidden"}],
            ["hostname"],
            environment={"HOME": str(tmp_path)},
            config=wanted,
            transport=transport,
        )["hidden"]
    finally:
        rig.run(2, ["iptables", "-D", "INPUT", *hidden])
    assert answer.get("out") == "node2\n", answer


def test_the_agent_holds_the_key(rig: Rig, tmp_path: Path, transport: str) -> None:
    script = f"ssh-add -q {STATE}/keys/client && exec {sys.executable} {ASK}"
    wanted = {
        "config": config(tmp_path, identity=f"{tmp_path}/no-such-key"),
        "nodes": [node(1)],
        "argv": ["hostname"],
        "transport": transport,
    }
    command = rig.from_ctl(["env", f"HOME={tmp_path}", "ssh-agent", "sh", "-c", script])
    done = subprocess.run(command, input=json.dumps(wanted), capture_output=True, text=True, timeout=240)
    assert json.loads(done.stdout)[0].get("out") == "node1\n", (done.stdout, done.stderr)


def test_a_certificate_opens_a_node_that_knows_only_its_authority(
    rig: Rig, tmp_path: Path, transport: str
) -> None:
    make = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f"]
    for name in ("authority", "mine"):
        subprocess.run([*make, str(tmp_path / name)], check=True)
    sign = ["ssh-keygen", "-q", "-s", tmp_path / "authority", "-I", "me", "-n", "root", "-V", "+1h"]
    subprocess.run([*sign, tmp_path / "mine.pub"], check=True)
    rig.run(1, ["sh", "-c", "cat > /run/authority.pub"], input=(tmp_path / "authority.pub").read_bytes())
    options = ["TrustedUserCAKeys=/run/authority.pub", "AuthorizedKeysFile=none", "PidFile=none"]
    sshd = ["/usr/sbin/sshd", "-D", "-p", "2222", *(word for option in options for word in ("-o", option))]
    server = subprocess.Popen(rig.inside(1, sshd))
    known = tmp_path / "known"
    public = " ".join((STATE / "keys" / "host.pub").read_text().split()[:2])
    known.write_text(f"[{address(1)}]:2222 {public}\n")
    try:
        wait = "until exec 3<>/dev/tcp/127.0.0.1/2222; do sleep .02; done"
        rig.run(1, ["timeout", "60", "bash", "-c", wait])
        more = {"config": config(tmp_path, identity=str(tmp_path / "mine"), known_hosts=known)}
        answer = ask(rig, [node(1, port=2222)], ["hostname"], transport=transport, **more)["node1"]
        assert answer.get("out") == "node1\n", answer
        (tmp_path / "mine-cert.pub").unlink()
        refused = ask(rig, [node(1, port=2222)], ["hostname"], transport=transport, **more)["node1"]
        assert refused["cause"] == "permission-denied"
    finally:
        server.kill()
        server.wait()


def test_three_hundred_nodes_in_one_call_with_few_files(rig: Rig, tmp_path: Path) -> None:
    """Each name is a connection of its own; four sshd stand behind them."""
    many = [{"name": f"n{n}", "address": address(n % 4 + 1)} for n in range(300)]
    answers = ask(rig, many, ["hostname"], files=512, times=2)
    assert [answers[f"n{n}"].get("out") for n in range(300)] == [f"node{n % 4 + 1}\n" for n in range(300)]


def test_each_failure_has_its_name_and_the_others_go_on(rig: Rig, transport: str) -> None:
    rig.run(2, ["iptables", "-A", "INPUT", "-p", "tcp", "--dport", "22", "-j", "DROP"])
    rig.run(
        3,
        [
            "iptables",
            "-A",
            "INPUT",
            "-p",
            "tcp",
            "--dport",
            "22",
            "-j",
            "REJECT",
            "--reject-with",
            "tcp-reset",
        ],
    )
    hung = subprocess.Popen(
        rig.inside(
            4, ["python3", "-c", "import socket,time;s=socket.create_server(('',2022));time.sleep(900)"]
        )
    )
    listens = "until grep -q ':07E6 ' /proc/net/tcp /proc/net/tcp6; do sleep .02; done"
    rig.run(4, ["timeout", "60", "bash", "-c", listens])
    try:
        nodes = [
            node(1),
            node(2),
            node(3),
            node(4, port=2022),
            {"name": "nobody", "address": "no-such-host.invalid"},
        ]
        answers = ask(rig, nodes, ["hostname"], transport=transport)
    finally:
        hung.kill()
        hung.wait()
        for number in (2, 3):
            rig.run(number, ["iptables", "-F", "INPUT"])
    assert answers["node1"]["out"] == "node1\n"
    assert {name: answers[name].get("cause") for name in ("node2", "node3", "node4", "nobody")} == {
        "node2": "timeout",
        "node3": "refused",
        "node4": "login-timeout",
        "nobody": "unknown-name",
    }


# ---- login shells ----


@pytest.fixture(scope="module")
def shells(rig: Rig) -> Iterator[list[dict]]:
    """node1 greets, node2 has csh and greets, node3 has fish, node4 gives back what it is given."""
    echo, cat = "echo 'Welcome to gpu02'\n", "echo Hello; exec cat\n"
    files = {1: (".bashrc", echo), 2: (".tcshrc", echo), 3: (".hushlogin", ""), 4: (".bashrc", cat)}
    for number, (name, text) in files.items():
        login = {2: "/usr/bin/tcsh", 3: "/usr/bin/fish"}.get(number, "/bin/bash")
        change = f"printf %s \"$1\" > /root/{name}; sed -i 's,^\\(root:.*:\\)[^:]*$,\\1{login},' /etc/passwd"
        rig.run(number, ["sh", "-c", change, "sh", text])
    yield [node(number) for number in files]
    for number, (name, _) in files.items():
        undo = f"rm /root/{name}; sed -i 's,^\\(root:.*:\\)[^:]*$,\\1/bin/bash,' /etc/passwd"
        rig.run(number, ["sh", "-c", undo])


def test_every_login_shell_is_understood_and_one_that_swallows_the_command_is_named(
    rig: Rig, shells: list[dict], transport: str
) -> None:
    words = ["new\nline", "a!b", "'"]
    script = "import sys, json\nprint(json.dumps([sys.argv[1:], sys.stdin.read()]))"
    answers = ask(rig, shells, ["python3", "-c", script, *words], transport=transport)
    for name in ("node1", "node2", "node3"):
        assert json.loads(answers[name]["out"]) == [words, "in\n"], answers[name]
    assert answers["node4"]["cause"] == "login-shell"
    assert "its login shell prints what it is given" in answers["node4"]["text"]

    told = ask(rig, shells, ["verb", "facts"], transport=transport)
    for name in ("node1", "node2", "node3"):
        assert told[name]["told"]["values"]["system"]["hostname"] == name
    assert told["node4"]["cause"] == "login-shell"

    streamed = ask(rig, shells, ["lines", "cat"], transport=transport)
    assert [streamed[f"node{n}"].get("lines") for n in (1, 2, 3, 4)] == [["in\n"], ["in\n"], ["in\n"], None]
    assert "its login shell prints" in streamed["node4"]["text"]
