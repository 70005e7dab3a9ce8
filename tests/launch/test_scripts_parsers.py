"""The tools that the golden files are for read them again, each with its own parser."""

from __future__ import annotations

import ast
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from allranks import spec
from allranks.launch import scripts
from allranks.launch.launchers import ansible
from allranks.plan import make_plan
from tests.harness import free_port, until

pytestmark = pytest.mark.lengthy

GOLDEN = Path(__file__).parent / "golden"
SHELL = sorted(p for p in GOLDEN.rglob("*") if p.suffix in (".sh", ".sbatch"))
WHICH = ("seeds", "hostile")


def run(*words: str, cwd: Path | None = None, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words,
        cwd=cwd,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        errors="replace",
        timeout=240,
    )


def test_bash_reads_every_script() -> None:
    assert len(SHELL) > 40
    done = run("bash", "-c", 'for file; do bash -n "$file" || exit; done', "_", *map(str, SHELL))
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "folder", sorted({p.parent for p in SHELL}), ids=lambda p: f"{p.parent.name}-{p.name}"
)
def test_shellcheck_finds_nothing(needs, folder: Path) -> None:
    needs("shellcheck")
    files = [p.name for p in SHELL if p.parent == folder]
    done = run("shellcheck", "--external-sources", "--exclude=SC1090,SC1091", *files, cwd=folder)
    assert done.stdout + done.stderr == ""


def test_python_reads_the_ray_job() -> None:
    for which in WHICH:
        ast.parse((GOLDEN / which / "ray" / "job.py").read_text(), feature_version=(3, 9))
        assert json.loads((GOLDEN / which / "ray" / "nodes.json").read_text())


@pytest.mark.parametrize("which", WHICH)
def test_hostfiles_hold_the_nodes(which: str) -> None:
    nodes, ranks = (3, 24) if which == "seeds" else (2, 4)
    # DeepSpeed's launcher starts one process a node, which starts torchrun.
    for path, slots in (("deepspeed/hostfile", nodes), ("mpi/hosts", ranks)):
        cluster = spec.cluster_from_hostfile((GOLDEN / which / path).read_text())
        assert (len(cluster.nodes), cluster.world_size) == (nodes, slots)


@pytest.mark.parametrize("which", WHICH)
def test_ansible_reads_playbook_and_inventory(needs, which: str, tmp_path: Path) -> None:
    needs("ansible-playbook")
    folder = GOLDEN / which / "ansible"
    env = {"ANSIBLE_LOCAL_TEMP": str(tmp_path), "ANSIBLE_HOME": str(tmp_path)}
    done = run("ansible-playbook", "--syntax-check", "-i", "inventory.yml", "playbook.yml", cwd=folder, **env)
    assert done.returncode == 0, done.stdout + done.stderr
    listed = run("ansible-inventory", "-i", "inventory.yml", "--list", cwd=folder, **env)
    hosts = json.loads(listed.stdout)["_meta"]["hostvars"]
    assert [h["ansible_host"] for h in hosts.values()][-1] == (
        "10.18.122.132" if which == "seeds" else "10.0.0.2"
    )


def test_ansible_takes_values_as_text_not_as_templates(needs, tmp_path: Path) -> None:
    """What stands in braces reaches a task as it is; an untagged one would be computed."""
    needs("ansible-playbook")
    evil = 'a {{ 7*7 }} {% raw %} it\'s "x"\n$HOME'
    (tmp_path / "vars.yml").write_text(ansible.dumped({"shown": evil, "folders": [evil]}))
    (tmp_path / "play.yml").write_text(
        "- hosts: localhost\n  connection: local\n  gather_facts: false\n  vars_files: [vars.yml]\n  tasks:\n"
        "    - ansible.builtin.copy: {content: '{{ [shown] + folders }}', dest: 'out.json'}\n"
    )
    env = {
        "ANSIBLE_LOCAL_TEMP": str(tmp_path),
        "ANSIBLE_HOME": str(tmp_path),
        "ANSIBLE_REMOTE_TEMP": str(tmp_path),
    }
    done = run("ansible-playbook", "-i", "localhost,", "play.yml", cwd=tmp_path, **env)
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads((tmp_path / "out.json").read_text()) == [evil, evil]


def test_the_playbook_ends_nothing_by_name_and_opens_nothing() -> None:
    text = (GOLDEN / "seeds" / "ansible" / "playbook.yml").read_text()
    for word in (
        "pkill",
        "killall",
        "ufw",
        "iptables",
        "StrictHostKeyChecking",
        "host_key_checking",
        "ansible.builtin.shell",
    ):
        assert word not in text
    tasks = yaml.safe_load(text)[0]["tasks"]
    commands = [task for task in tasks if "ansible.builtin.command" in task]
    assert commands
    for task in commands:  # each says how it knows that there is nothing to do
        assert "creates" in task["ansible.builtin.command"] or "changed_when" in task, task["name"]


def test_the_pins_are_the_versions_that_the_tests_run_with(root: Path) -> None:
    held = {}
    for name in ("torch", "train", "llamafactory"):
        for line in (root / "requirements" / f"{name}.txt").read_text().splitlines():
            package, found, version = line.partition("#")[0].strip().partition("==")
            if found:
                held[package.lower()] = version.strip()
    pinned = {name: version for name, version in ansible.PINS.items() if version}
    assert pinned == {name: held.get(name) for name in pinned}


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory):
    """A SLURM controller of our own, on loopback, whose nodes are names alone: `--test-only` starts no job."""
    import shutil

    program = shutil.which("slurmctld", path="/usr/sbin:/usr/bin")
    if program is None or shutil.which("sbatch") is None:
        yield None
        return
    root = tmp_path_factory.mktemp("slurm")
    port = free_port()
    (root / "state").mkdir()
    (root / "slurm.conf").write_text(
        f"ClusterName=t\nSlurmctldHost={socket.gethostname()}(127.0.0.1)\nSlurmctldPort={port}\n"
        "AuthType=auth/none\nCredType=cred/none\nProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n"
        f"SlurmUser={os.environ.get('USER', 'root') if os.geteuid() else 'root'}\nStateSaveLocation={root}/state\n"
        f"SlurmdSpoolDir={root}/spool\nSlurmctldPidFile={root}/pid\nSlurmctldLogFile={root}/log\nMpiDefault=none\n"
        "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core\nGresTypes=gpu\n"
        "NodeName=n[0-3] NodeAddr=127.0.0.1 CPUs=16 RealMemory=100000 Gres=gpu:8 State=CLOUD\n"
        "NodeName=alpha,beta NodeAddr=127.0.0.1 CPUs=16 RealMemory=100000 Gres=gpu:8 State=CLOUD\n"
        "PartitionName=gpu Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n"
    )
    env = {"SLURM_CONF": str(root / "slurm.conf")}
    server = subprocess.Popen(
        [program, "-D", "-i", "-c"],
        env={**os.environ, **env},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until(lambda: run("sinfo", "-h", **env).returncode == 0, "sinfo answers", 60, 0.05)
        yield env
    finally:
        server.terminate()
        server.wait(60)


@pytest.mark.parametrize("which", WHICH)
def test_sbatch_takes_the_job_file(needs, slurm, which: str) -> None:
    needs("slurmctld")
    needs("sbatch")
    folder = GOLDEN / which / "slurm"
    done = run("sbatch", "--test-only", "job.sbatch", cwd=folder, **slurm)
    assert done.returncode == 0, done.stderr
    assert (
        "using 48 processors" if which == "seeds" else "on nodes alpha,beta in partition gpu"
    ) in done.stderr
    more = run("sbatch", "--test-only", "--gres=gpu:9", "job.sbatch", cwd=folder, **slurm)
    assert more.returncode != 0  # so that its yes means something


@pytest.mark.training
def test_accelerate_reads_its_configuration() -> None:
    """Accelerate's own parser, as `accelerate launch` runs it, on the words of node-1.sh."""
    program = """
import json, sys
from accelerate.commands.launch import _validate_launch_command, launch_command_parser
folder = sys.argv[1]
words = [f"--config_file={folder}/node-1.yaml", f"--deepspeed_config_file={folder}/deepspeed.json"]
args = launch_command_parser().parse_args([*words, "-m", "llamafactory.launcher", "--x=1"])
args, _, _ = _validate_launch_command(args)
print(json.dumps({name: getattr(args, name) for name in sys.argv[2:]}))
"""
    wanted = {
        "machine_rank": 1,
        "main_process_ip": "10.18.122.130",
        "main_process_port": 39500,
        "num_machines": 3,
        "num_processes": 24,
        "use_deepspeed": True,
        "deepspeed_config_file": str(GOLDEN / "seeds" / "accelerate" / "deepspeed.json"),
        "deepspeed_multinode_launcher": "standard",
        "module": True,
        "training_script": "llamafactory.launcher",
        "training_script_args": ["--x=1"],
    }
    done = run(sys.executable, "-c", program, str(GOLDEN / "seeds" / "accelerate"), *wanted)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == wanted


@pytest.mark.parametrize(
    ("launcher", "packages"), [("pdsh", ["pdsh"]), ("mpi", ["openmpi-bin"]), ("ssh", None)]
)
def test_the_playbook_installs_the_launchers_own_program(
    make, launcher: str, packages: list[str] | None
) -> None:
    run = make(launch=launcher)
    files = scripts.render("ansible", run, make_plan(run), "/opt/training/bin/python")
    told = yaml.safe_load(files["vars.yml"].text)
    assert told["launcher_packages"].get("Debian") == packages
    (task,) = [
        task
        for task in yaml.safe_load(files["playbook.yml"].text)[0]["tasks"]
        if task["name"].startswith("The launcher's own packages (Debian")
    ]
    assert task["ansible.builtin.apt"] == {
        "name": "{{ launcher_packages.Debian }}",
        "state": "present",
        "fail_on_autoremove": True,
    }
