"""`init --from`: the run file of a script for sbatch or a shell, and the script's own mistakes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from allranks import cli, spec

JOB = """\
#!/bin/bash
#SBATCH --job-name=llm   # a name
#SBATCH --nodes={nodes}
#SBATCH --ntasks-per-node={tasks}
#SBATCH --gres=gpu:a100:{gpus}
#SBATCH -c 16
#SBATCH --time=12:00:00
#SBATCH --partition big
#SBATCH --output=%x-%j.out
module load cuda/12.1
source ~/.bashrc
source /opt/env/bin/activate
export NCCL_DEBUG=WARN OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK
export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
ARGS="--lr 1e-5"
{start} torchrun --nnodes {nnodes} --nproc_per_node {ranks} --node_rank $SLURM_PROCID \\
    --rdzv_endpoint $MASTER_ADDR:29501 train.py $ARGS
"""
RIGHT = {"nodes": 4, "nnodes": "$SLURM_NNODES", "tasks": 1, "gpus": 8, "ranks": 8, "start": "srun"}


@pytest.fixture
def here(home: Path, tmp_path: Path, monkeypatch) -> Path:
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def written(here: Path, capsys, **parts) -> list[dict]:
    (here / "job.slurm").write_text(JOB.format(**{**RIGHT, **parts}))
    assert cli.main(["init", "--from", "job.slurm", "--force", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["findings"]
    return [one for one in found if one["id"] != "launcher-dropped"]


def test_a_job_script_is_a_run_file(here: Path, capsys) -> None:
    assert written(here, capsys) == []
    run = spec.load("run.yaml")
    assert (run.name, len(run.cluster.nodes), run.gpus.count) == ("llm", 4, 8)
    assert (run.launch.with_, run.launch.partition, run.launch.time) == ("slurm", "big", "12:00:00")
    assert run.launch.extra == ("-c16",)
    assert run.train.command == (str(here / "train.py"), "--lr", "1e-5")
    assert (run.network.port, dict(run.env)) == (29501, {"NCCL_DEBUG": "WARN", "OMP_NUM_THREADS": "16"})
    assert (run.environment.modules, run.environment.activate) == (("cuda/12.1",), "/opt/env/bin/activate")


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"tasks": 8}, "#SBATCH --ntasks-per-node=8 against torchrun"),
        ({"ranks": 16}, "torchrun --nproc_per_node 16 against #SBATCH --gres=gpu:a100:8."),
        ({"start": "srun --nodes=2"}, "srun --nodes=2 against #SBATCH --nodes=4."),
        ({"start": ""}, "#SBATCH --nodes=4, and no srun before torchrun."),
        (
            {"nodes": 1, "nnodes": 4},
            "torchrun --nnodes 4 against #SBATCH --nodes=1.",
        ),
    ],
)
def test_what_is_wrong_in_the_script_is_said(here: Path, capsys, parts, said: str) -> None:
    found = written(here, capsys, **parts)
    assert [one["id"] for one in found] == ["launcher-contradicts"]
    assert said in found[0]["saw"]


def test_a_person_sees_the_findings_and_not_in_the_file(here: Path, capsys) -> None:
    (here / "job.slurm").write_text(JOB.format(**{**RIGHT, "tasks": 8}))
    assert cli.main(["init", "--from", "job.slurm", "-o", "-"]) == 0
    out, err = capsys.readouterr()
    assert "one task per node" in err and "one task per node" not in out
    assert spec.loads(out, "run.yaml").gpus.count == 8


def test_a_shell_script_needs_its_machines(here: Path, capsys) -> None:
    (here / "go.sh").write_text("torchrun --nnodes 2 --nproc_per_node 8 train.py\n")
    assert cli.main(["init", "--from", "go.sh"]) == 2
    assert "--nodes" in capsys.readouterr().err
    assert cli.main(["init", "n[1-2]", "--from", "go.sh"]) == 0
    assert [node.name for node in spec.load("run.yaml").cluster.nodes] == ["n1", "n2"]


@pytest.mark.parametrize("line", ["#SBATCH --array=0-3", "#SBATCH --nosuch", "#SBATCH word"])
def test_what_cannot_be_a_run_is_refused(here: Path, capsys, line: str) -> None:
    (here / "job.slurm").write_text(f"#!/bin/bash\n{line}\nsrun python train.py\n")
    assert cli.main(["init", "--from", "job.slurm"]) == 2
    assert "SBATCH" in capsys.readouterr().err
    assert not (here / "run.yaml").exists()


@pytest.mark.parametrize(("with_", "verb"), [("slurm", "plan"), ("ssh", "check")])
def test_the_next_verb_is_one_that_can_work(with_: str, verb: str) -> None:
    """`check` needs nodes, which a scheduler chooses only when the job runs."""
    from allranks.cli.verbs.init import next_verb

    nodes = "2" if with_ == "slurm" else "[a, b]"
    assert (
        next_verb(f"nodes: {nodes}\ngpus: 8\nlaunch: {{with: {with_}}}\ntrain: {{command: [t.py]}}\n") == verb
    )
