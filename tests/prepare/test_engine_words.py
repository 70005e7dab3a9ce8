"""The command lines for docker, podman and apptainer, word by word."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

import pytest

from allranks.prepare import apptainer, engine, login
from allranks.prepare.container_commands import Contained
from allranks.prepare.description import Description, Mount, container_name

PLAIN = Description(
    engine="docker",
    image="hiyouga/llamafactory@sha256:0123",
    name="allranks-run-node-0-1",
    node="node-0",
    home="/home/ubuntu/.allranks",
    user="0:0",
)
FULL = replace(
    PLAIN,
    user="1000:1000",
    groups=(44, 109),
    mounts=(Mount("/nfs", "/nfs", ("ro",)), Mount("/home/ubuntu", "/host_home")),
    shm_bytes=16 << 30,
    gpus=True,
    infiniband=True,
    extra={"cap-add": ["NET_ADMIN"], "--privileged": True, "dns": None},
)
BIND = "--mount=type=bind,source=/home/ubuntu/.allranks{0},target=/home/ubuntu/.allranks{0}{1}"
HOME = [
    BIND.format("", ",readonly"),
    *(BIND.format(f"/{name}", "") for name in ("runs", "cache", "code", "container-home")),
]
IDLER = ["-I", "-S", "-c", engine.IDLE, "120"]


def labels(wanted: Description) -> list[str]:
    return [
        "--label=org.allranks.home=/home/ubuntu/.allranks",
        "--label=org.allranks.node=node-0",
        "--label=org.allranks.run=run-1",
        f"--label=org.allranks.description={wanted.digest()}",
    ]


def test_docker_without_anything() -> None:
    assert engine.create(PLAIN, "run-1") == [
        *("docker", "run", "--detach", "--name=allranks-run-node-0-1", "--pull=never"),
        *labels(PLAIN),
        *("--network=host", "--ipc=host", "--user=0:0"),
        *("--cap-add=IPC_LOCK", "--cap-add=SYS_NICE", "--cap-add=SYS_PTRACE"),
        "--security-opt=no-new-privileges",
        *HOME,
        *("--env=ALLRANKS_HOME=/home/ubuntu/.allranks", "--workdir=/home/ubuntu/.allranks"),
        *("--entrypoint=python3", "hiyouga/llamafactory@sha256:0123", *IDLER),
    ]


def test_docker_with_everything() -> None:
    assert engine.create(FULL, "run-1") == [
        *("docker", "run", "--detach", "--name=allranks-run-node-0-1", "--pull=never"),
        *labels(FULL),
        *("--network=host", "--ipc=private", f"--shm-size={16 << 30}", "--user=1000:1000"),
        *("--group-add=44", "--group-add=109", "--gpus=all", "--device=/dev/infiniband"),
        *("--ulimit=memlock=-1", "--ulimit=stack=67108864"),
        *("--cap-add=IPC_LOCK", "--cap-add=SYS_NICE", "--cap-add=SYS_PTRACE"),
        "--security-opt=no-new-privileges",
        "--mount=type=bind,source=/nfs,target=/nfs,readonly",
        "--mount=type=bind,source=/home/ubuntu,target=/host_home",
        *HOME,
        *("--env=ALLRANKS_HOME=/home/ubuntu/.allranks", "--workdir=/home/ubuntu/.allranks"),
        "--env=HOME=/home/ubuntu/.allranks/container-home",
        *("--env=USER=allranks", "--env=LOGNAME=allranks"),
        *("--cap-add=NET_ADMIN", "--privileged"),
        *("--entrypoint=python3", "hiyouga/llamafactory@sha256:0123", *IDLER),
    ]


def test_what_the_run_file_says_of_security_wins() -> None:
    words = engine.create(replace(FULL, extra={"security-opt": ["seccomp=unconfined"]}), "r")
    assert [word for word in words if "security-opt" in word] == ["--security-opt=seccomp=unconfined"]


def test_podman_differs_in_its_gpus_and_its_user_namespace() -> None:
    docker = engine.create(FULL, "run-1")
    podman = engine.create(replace(FULL, engine="podman"), "run-1")
    assert [word for word in podman if word not in docker and "description" not in word] == [
        "podman",
        "--userns=keep-id",
        "--device=nvidia.com/gpu=all",
    ]


def test_what_the_run_file_sets_takes_the_place_of_ours() -> None:
    words = engine.create(replace(FULL, extra={"ipc": "host", "user": "root", "gpus": '"device=0,1"'}), "r")
    assert [word for word in words if word.startswith(("--ipc", "--user", "--gpus"))] == [
        *("--ipc=host", "--user=root", '--gpus="device=0,1"')
    ]


@pytest.mark.parametrize("option", ["name", "--label", "entrypoint", "rm", "restart", "pid"])
def test_options_that_ownership_rests_on_are_refused(option: str) -> None:
    for make in (lambda wanted: engine.create(wanted, "r"), apptainer.create):
        with pytest.raises(ValueError, match=option.lstrip("-")):
            make(replace(PLAIN, extra={option: "x"}))


def test_a_comma_in_a_path_is_no_field_of_its_own() -> None:
    words = engine.mounted(Mount("/data/a,b", "/c", ("ro", "rslave")))
    assert words == ['--mount=type=bind,"source=/data/a,b",target=/c,readonly,bind-propagation=rslave']


def test_selinux_options_need_volume() -> None:
    assert engine.mounted(Mount("/a", "/b", ("ro", "z"))) == ["--volume=/a:/b:ro,z"]


def test_a_home_in_a_mount_is_the_users() -> None:
    assert Mount.read("~/x:/x:ro,z", "/home/u/") == Mount("/home/u/x", "/x", ("ro", "z"))
    assert Mount.read("~:/h", "/home/u").source == "/home/u"


def test_commands_keep_their_words() -> None:
    argv = ("python3", "-c", "print('a b')", "$HOME", "")
    assert engine.execute("docker", "id1", argv, user="0") == [
        "docker",
        "exec",
        "--interactive",
        "--user=0",
        "id1",
        *argv,
    ]


def test_pip_is_offline_only_with_wheels() -> None:
    flags = ["--no-input", "--disable-pip-version-check", "--no-warn-script-location", "--quiet"]
    wanted = replace(PLAIN, pip=("peft==0.18.1",))
    assert engine.install(wanted) == ["python3", "-m", "pip", "install", *flags, "peft==0.18.1"]
    offline = engine.install(replace(wanted, wheels="/nfs/wheels"))
    assert offline[-3:] == ["--no-index", "--find-links=/nfs/wheels", "peft==0.18.1"]


def test_every_change_of_the_description_is_another_digest() -> None:
    changes = [
        {"image": "x"},
        {"pip": ("a",)},
        {"mounts": ()},
        {"shm_bytes": 1},
        {"gpus": False},
        {"user": "1:1"},
    ]
    digests = {replace(FULL, **change).digest() for change in changes}
    assert len(digests | {FULL.digest()}) == len(changes) + 1
    assert replace(FULL).digest() == FULL.digest()


def test_names_are_one_a_home_run_and_node() -> None:
    names = {container_name(r, n, h) for r in ("a", "b") for n in ("n1", "n2") for h in ("/h", "/i")}
    assert len(names) == 8
    assert all(len(container_name("r" * 63, "n" * 63, "/h")) <= 128 for _ in names)


def test_apptainer() -> None:
    assert apptainer.create(
        replace(FULL, engine="apptainer", image="/nfs/a.sif", extra={"fakeroot": True})
    ) == [
        *("apptainer", "instance", "start", "--cleanenv", "--nv"),
        *("--bind=/nfs:/nfs:ro", "--bind=/home/ubuntu:/host_home"),
        "--bind=/home/ubuntu/.allranks:/home/ubuntu/.allranks:ro",
        *(f"--bind={FULL.home}/{n}:{FULL.home}/{n}" for n in ("runs", "cache", "code", "container-home")),
        *("--fakeroot", "/nfs/a.sif", "allranks-run-node-0-1"),
    ]
    assert apptainer.image("hiyouga/llamafactory:0.9.5") == "docker://hiyouga/llamafactory:0.9.5"
    assert apptainer.image("oras://site/image") == "oras://site/image"
    assert apptainer.execute("box", ["python3", "-V"], "/h/.allranks") == [
        *("apptainer", "exec", "--cleanenv", "--env=ALLRANKS_HOME=/h/.allranks", "--pwd=/"),
        *("instance://box", "python3", "-V"),
    ]
    assert apptainer.end("box") == ["apptainer", "instance", "stop", "--timeout=10", "box"]


def test_a_user_of_the_node_gets_a_name_inside(tmp_path) -> None:
    assert not login.is_needed(PLAIN) and login.is_needed(FULL)
    assert not login.is_needed(replace(FULL, engine="podman"))
    assert not login.is_needed(replace(FULL, extra={"user": "5:5"}))
    words = login.entry(replace(FULL, user_name="mira"))
    assert words[-4:] == ("1000", "1000", "mira", "/home/ubuntu/.allranks/container-home")
    assert "--env=USER=mira" in engine.create(replace(FULL, user_name="mira"), "run-1")


@pytest.mark.parametrize("name", [None, "", "a:b", "x\ny", "-rf", "a" * 40, "ä"])
def test_a_name_that_passwd_cannot_hold_is_not_written(name) -> None:
    assert login.name_of(name) == "allranks"


@pytest.mark.parametrize(
    ("uid", "name", "added"),
    [
        ("4321", "mira", ["mira:x:4321:7::/h:/bin/sh"]),
        ("0", "mira", []),
        ("4321", "root", ["uid4321:x:4321:7::/h:/bin/sh"]),
    ],
)
def test_the_entry_is_written_where_there_is_none(tmp_path, uid: str, name: str, added: list[str]) -> None:
    passwd = tmp_path / "passwd"
    passwd.write_text("")
    program = login.ENTRY.replace("/etc/passwd", str(passwd))
    subprocess.run([sys.executable, "-I", "-S", "-c", program, uid, "7", name, "/h"], check=True)
    assert passwd.read_text().splitlines() == added


@pytest.mark.parametrize("name", ["docker", "podman"])
def test_the_gpus_of_a_scheduler_are_those_of_the_ranks_inside(name: str) -> None:
    """The container sees all GPUs of the node; without a value the option takes the caller's variable."""
    box = Contained(name, "id1", "box", "n1", "/h/.allranks", "r", "x", "x", "d")
    words = box.execute_on_own_gpus(["python3", "-V"])
    assert words == [
        *(name, "exec", "--interactive", "--env=ALLRANKS_HOME=/h/.allranks", "--env=CUDA_VISIBLE_DEVICES"),
        *("id1", "python3", "-V"),
    ]


@pytest.mark.parametrize(("has", "gets"), [("4,5", "4,5"), ("", "none"), (None, "none")])
def test_apptainer_passes_the_gpus_of_a_scheduler_on(has: str | None, gets: str) -> None:
    words = [
        "sh",
        "-c",
        apptainer.OWN_GPUS,
        "sh",
        "sh",
        "-c",
        'echo "${APPTAINERENV_CUDA_VISIBLE_DEVICES:-none}"',
    ]
    variables = {"PATH": os.environ["PATH"], **({} if has is None else {"CUDA_VISIBLE_DEVICES": has})}
    done = subprocess.run(words, env=variables, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == gets
