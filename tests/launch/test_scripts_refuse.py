"""What a target cannot express is refused, and a name never becomes an option, a path or shell."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from allranks.core import BadInput, Cluster, Node
from allranks.launch import scripts
from allranks.launch.scripts import File
from allranks.plan import make_plan
from allranks.spec import Container, Environment, Launch, Save
from allranks.spec.launchers import names

PAIR = (Node("a", "10.0.0.1", 0, gpus=2), Node("b", "10.0.0.2", 1, gpus=2))


def refused(target: str, run, python: str = "python3") -> str:
    with pytest.raises(BadInput) as error:
        scripts.render(target, run, make_plan(run), python)
    return str(error.value)


@pytest.mark.parametrize("target", names())
@pytest.mark.parametrize(
    "change",
    [
        {"name": "-oProxyCommand=id"},
        {"name": "../up"},
        {"name": "a b"},
        {"name": "a;id"},
        {"name": "a\nb"},
        {"address": "-oProxyCommand=id"},
        {"address": "$(id)"},
        {"address": "h`id`"},
        {"address": "a b"},
        {"user": "-l"},
        {"user": "me;id"},
        {"user": "a\nb"},
        {"env": (("A;id", "x"),)},
        {"env": (("-i", "x"),)},
        {"env": (("A", "a\0b"),)},
        {"env": (("A", "\ud800"),)},
    ],
    ids=repr,
)
def test_a_name_never_becomes_an_option_or_shell(make, target: str, change: dict) -> None:
    refused(target, make(nodes=(PAIR[0], replace(PAIR[1], **change))))


@pytest.mark.parametrize("target", names())
@pytest.mark.parametrize(
    "more",
    [
        {"user": "-x"},
        {"secrets": ("A;id",)},
        {"environment": Environment(modules=("-x",))},
        {"environment": Environment(modules=("a;id",))},
        {"arguments": ["a\0here\0b"]},
        {"arguments": ["\udc80"]},
        {"code": "-x"},
    ],
    ids=repr,
)
def test_other_words_of_the_run_file_neither(make, target: str, more: dict) -> None:
    refused(target, make(**more))


def test_python_is_a_program(make) -> None:
    assert "equals sign" in refused("torchrun", make(), python="/opt/a=b/python")
    assert "begins with a dash" in refused("torchrun", make(), python="-c")


@pytest.mark.parametrize("target", ["torchrun", "mpi", "pdsh", "deepspeed", "flux", "accelerate", "ansible"])
def test_machines_that_nobody_knows_cannot_be_named(make, target: str) -> None:
    assert "names no machine" in refused(target, make(nodes_known=False))


@pytest.mark.parametrize("target", ["torchrun", "mpi", "pdsh", "deepspeed", "flux", "accelerate", "ray"])
def test_a_sweep_needs_an_array(make, target: str) -> None:
    said = refused(target, make(sweep={"lr": (1, 2, 3)}))
    assert "sweep: 3 runs" in said
    assert "--render slurm" in said


@pytest.mark.parametrize("name", ["-lr", "a b", "output_dir", "deepspeed", "a=b"])
def test_a_sweep_is_over_arguments_of_training(make, name: str) -> None:
    assert "cannot be swept" in refused("slurm", make(sweep={name: (1,)}))


@pytest.mark.parametrize("target", ["slurm", "pdsh", "deepspeed", "ray"])
def test_several_nodes_on_one_machine(make, target: str) -> None:
    assert "one machine" in refused(target, make(nodes=(PAIR[0], replace(PAIR[1], address="10.0.0.1"))))


@pytest.mark.parametrize("target", ["slurm", "accelerate"])
def test_unequal_nodes(make, target: str) -> None:
    assert "2 and with 3 GPUs" in refused(target, make(nodes=(PAIR[0], replace(PAIR[1], gpus=3))))


def test_unequal_nodes_where_they_can_be_said(make) -> None:
    run = make(nodes=(PAIR[0], replace(PAIR[1], gpus=3)))
    for target in ("torchrun", "mpi", "pdsh", "ray"):
        files = scripts.render(target, run, make_plan(run), "python3")
        text = "".join(file.text for file in files.values())
        assert "--nproc-per-node=3" in text or "sizes=(2 3)" in text


def test_slurm_chooses_which_machine_is_which_node(make) -> None:
    assert "OWN" in refused("slurm", make(own={"OWN": "x"}))


def test_slurm_options_are_one_line(make) -> None:
    for word in ("--comment=a\n#SBATCH --uid=0", "--comment=it's", '--x="', "--x=$HOME"):
        run = replace(make(), launch=Launch("slurm", extra=(word,)))
        assert "launch.extra" in refused("slurm", run)
    bad = replace(make(), launch=Launch("slurm", partition="gpu --uid=0"))
    assert "not a name that a scheduler has" in refused("slurm", bad)


@pytest.mark.parametrize("target", ["mpi", "pdsh", "deepspeed"])
def test_what_a_list_of_hosts_cannot_hold(make, target: str) -> None:
    assert "as an address" in refused(target, make(nodes=(PAIR[0], replace(PAIR[1], address="fd00::1"))))
    assert "SSH ports" in refused(target, make(nodes=(PAIR[0], replace(PAIR[1], port=2222))))
    assert "split it" in refused(target, make(user="me@corp"))


def test_the_same_port_everywhere_can_be_said(make) -> None:
    run = make(nodes=tuple(replace(node, port=2222) for node in PAIR), user="me")
    for target, words in (
        ("mpi", "--mca plm_rsh_args '-o BatchMode=yes -o ConnectTimeout=10 -l me -p 2222'"),
        ("pdsh", "'PDSH_SSH_ARGS_APPEND=-o BatchMode=yes -o ConnectTimeout=10 -p 2222'"),
        ("deepspeed", "'PDSH_SSH_ARGS_APPEND=-o BatchMode=yes -o ConnectTimeout=10 -p 2222'"),
    ):
        files = scripts.render(target, run, make_plan(run), "python3")
        assert words in "".join(file.text for file in files.values())


def test_containers_where_they_cannot_be(make) -> None:
    run = make(container=Container("docker", "i", mounts=("/out:/out",)))
    assert "mpirun-ranks.sh" not in scripts.render("mpi", run, make_plan(run), "python3")
    assert "read-only" in refused("torchrun", make(container=Container("apptainer", "i.sif", pip=("a",))))


def test_the_systems_own_python_is_not_made_anew(make) -> None:
    for python in ("/usr/bin/python3", "/opt/py/python3"):
        refused("ansible", make(environment=Environment(python=python)), python)


def test_a_folder_with_other_files_is_left_alone(make, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(BadInput, match=r"thesis\.tex"):
        scripts.write({"a": File("x")}, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_link_is_replaced_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("keep")
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "node-0.sh").symlink_to(victim)
    scripts.write({"node-0.sh": File("new", 0o755)}, folder)
    assert victim.read_text() == "keep"
    assert (folder / "node-0.sh").read_text() == "new"
    assert not (folder / "node-0.sh").is_symlink()


def test_one_node_is_enough(make) -> None:
    run = replace(
        make(container=Container("docker", "i", mounts=("/out:/out",)), save=Save(to="/out")),
        cluster=Cluster(PAIR[:1]),
    )
    for target in names():
        files = scripts.render(target, run, make_plan(run), "python3")
        assert files and all(file.text.strip() for file in files.values()), target


def test_an_unknown_target_is_said_with_the_known_ones(make) -> None:
    assert "accelerate, ansible, deepspeed" in refused("slrum", make())


def test_a_folder_that_ray_copies_need_not_be_on_every_node(make) -> None:
    run = make()
    asked = {
        target: "This folder on every node"
        in scripts.render(target, run, make_plan(run), "python3")["README.md"].text
        for target in ("ray", "torchrun")
    }
    assert asked == {"ray": False, "torchrun": True}
