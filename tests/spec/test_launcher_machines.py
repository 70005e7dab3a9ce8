"""The machines and GPUs that launchers name: in a hostfile, as a choice from it, or as `nodes` names them already."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from allranks.core import BadInput
from allranks.spec import Run, Typed, load_typed

EVEN = "node1 slots=8\nnode2 slots=8\nnode3 slots=8\n"
UNEVEN = "node1 slots=8 ib0 NCCL_DEBUG=INFO\nnode2 slots=4\n"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "even").write_text(EVEN)
    (tmp_path / "uneven").write_text(UNEVEN)
    return tmp_path


def typed(line: str, nodes: str | None = None) -> Run:
    return load_typed(Typed(words=tuple(shlex.split(line)), nodes=nodes))


def machines(run: Run) -> list[tuple[str, int]]:
    return [(node.name, node.gpus) for node in run.cluster.nodes]


def contradictions(run: Run) -> list[str]:
    found = [note.saw for note in run.notes if note.id == "launcher-contradicts"]
    return [saw.removeprefix("train.command: ") for saw in found]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("--hostfile even --num_gpus 2", [("node1", 2), ("node2", 2), ("node3", 2)]),
        ("--num_gpus 2 --hostfile uneven", [("node1", 2), ("node2", 2)]),
        ("--hostfile even --num_nodes 2", [("node1", 8), ("node2", 8)]),
        ("--hostfile even --num_nodes 2 --num_gpus 4", [("node1", 4), ("node2", 4)]),
        ("--hostfile uneven", [("node1", 8), ("node2", 4)]),
        ("--hostfile even -i node1:0,1@node2:0,1", [("node1", 2), ("node2", 2)]),
        ("-i node2:0,1 --hostfile even", [("node2", 2)]),
        ("--hostfile even -i node1@node3", [("node1", 8), ("node3", 8)]),
        ("--hostfile uneven -i node1@node2", [("node1", 8), ("node2", 4)]),
        ("-i node1:0,1@node2:0,1", [("node1", 2), ("node2", 2)]),
    ],
)
def test_deepspeed_chooses_from_its_hostfile(options: str, expected: list[tuple[str, int]]) -> None:
    run = typed(f"deepspeed {options} t.py")
    assert machines(run) == expected and not contradictions(run)


def test_the_other_words_of_a_hostfile_stay() -> None:
    first, second = typed("deepspeed --hostfile uneven --num_gpus 2 t.py").cluster.nodes
    assert (first.interface, dict(first.env)) == ("ib0", {"NCCL_DEBUG": "INFO"})
    assert second.interface is None


def test_a_machine_that_the_hostfile_does_not_have_is_refused() -> None:
    with pytest.raises(BadInput, match="node9 is not in even") as error:
        typed("deepspeed --hostfile even -i node1@node9 t.py")
    assert "such as node1" in str(error.value)


def test_a_hostfile_that_cannot_be_read_is_an_error_of_nodes() -> None:
    with pytest.raises(BadInput, match=r"nodes: \S*none: file not found"):
        typed("deepspeed --hostfile ./none --num_gpus 2 t.py")


@pytest.mark.parametrize(
    ("command", "nodes"),
    [
        ("srun -N 2 torchrun --nproc_per_node 8 t.py", "node[1-2]"),
        ("srun -w node[1-2] torchrun --nproc_per_node 8 t.py", "node[1-2]"),
        ("srun -w node2,node1 torchrun --nproc_per_node 8 t.py", "node1,node2"),
        ("mpirun -H node1:8,node2:8 python t.py", "node[1-2]"),
        ("mpirun --hostfile even python t.py", "even"),
        ("deepspeed --hostfile even t.py", "node1,node2,node3"),
        ("deepspeed --hostfile even t.py", "even"),
        ("deepspeed --hostfile even -i node1:0,1@node2:0,1 t.py", "node[1-2]"),
        ("colossalai run --nproc_per_node 2 --host node1,node2 t.py", "node[1-2]"),
    ],
)
def test_the_same_machines_in_another_form_contradict_nothing(command: str, nodes: str) -> None:
    assert contradictions(typed(command, nodes)) == []


@pytest.mark.parametrize(
    ("command", "nodes", "said"),
    [
        ("srun -N 3 torchrun t.py", "node[1-2]", "srun -N 3, and the run has 2 machines."),
        ("srun -w node[1-3] torchrun t.py", "node[1-2]", "srun -w node[1-3] against nodes: node[1-2]."),
        ("srun -w node[2-3] torchrun t.py", "node[1-2]", "srun -w node[2-3] against nodes: node[1-2]."),
        ("deepspeed --hostfile even t.py", "uneven", "deepspeed --hostfile even against nodes: uneven."),
        (
            "torchrun --nproc_per_node=2 t.py",
            "even",
            "torchrun --nproc_per_node=2, and the run has 8 ranks per node.",
        ),
        (
            "torchrun --nproc_per_node=2 t.py",
            "uneven",
            "torchrun --nproc_per_node=2, and the run has 4 to 8 ranks per node.",
        ),
    ],
)
def test_other_machines_or_ranks_are_a_contradiction(command: str, nodes: str, said: str) -> None:
    assert said in contradictions(typed(command, nodes))


def test_deepspeed_gives_the_variables_of_its_own_files_to_several_machines(here: Path) -> None:
    (here / ".deepspeed_env").write_text(
        "NCCL_IB_DISABLE=1\nHF_HOME=/x y=z\nWANDB_API_KEY=abc\n\nno variable\n#X=1\n"
    )
    run = typed("deepspeed --hostfile even train.py")
    assert (run.env["NCCL_IB_DISABLE"], run.env["HF_HOME"]) == ("1", "/x y=z")
    assert "WANDB_API_KEY" not in run.env
    assert any("WANDB_API_KEY of .deepspeed_env is left out" in note.saw for note in run.notes)
    for alone in ("--num_gpus 2", "--include localhost:0,1"):
        assert "NCCL_IB_DISABLE" not in typed(f"deepspeed {alone} train.py").env, (
            "only its multi-node starts read it"
        )
