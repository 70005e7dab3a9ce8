"""Commands as people paste them: launchers, shell syntax and variables become what a run file says in keys."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from allranks import spec
from allranks.core import BadInput
from allranks.spec import Run, Typed, load_typed, loads
from allranks.spec.commands import Command, forms, reduce
from allranks.spec.commands.llamafactory import recognized


def typed(line: str, **keys: Any) -> Run:
    return load_typed(Typed(words=tuple(shlex.split(line)), **keys))


def ids(run: Run) -> list[str]:
    return [note.id for note in run.notes if note.id != "launcher-dropped"]


def problem(line: str, **keys: Any) -> str:
    with pytest.raises(BadInput) as error:
        typed(line, **keys)
    (found,) = error.value.problems
    assert found.file == "command line"
    return found.saw


UNDERSTOOD: dict[str, dict[str, Any]] = {
    "torchrun --nproc_per_node 8 t.py --x y": {"gpus": 8, "words": ("--x", "y")},
    "torchrun --nproc-per-node=2 --standalone --master_port 29511 t.py": {"gpus": 2, "port": 29511},
    "torchrun --nproc_per 4 --max_restarts=3 t.py": {"gpus": 4, "restarts": 3},
    "python -m torch.distributed.run --rdzv_endpoint=h:29400 --nproc_per_node=gpu t.py": {"port": 29400},
    "python -m torch.distributed.launch --use_env --nproc_per_node=4 t.py": {"gpus": 4},
    "deepspeed --num_gpus 4 --master_port=29600 t.py": {"gpus": 4, "port": 29600},
    "deepspeed --include localhost:0,2 t.py": {"gpus": 2, "env": {"CUDA_VISIBLE_DEVICES": "0,2"}},
    "deepspeed --include=a:0,1@b:0,1 t.py": {
        "gpus": 2,
        "nodes": ["a", "b"],
        "env": {"CUDA_VISIBLE_DEVICES": "0,1"},
        "with": "ssh",
    },
    "mpirun -np 16 -H a:8,b:8 -x NCCL_DEBUG=INFO --mca btl tcp,self python t.py": {
        "gpus": 8,
        "nodes": ["a", "b"],
        "env": {"NCCL_DEBUG": "INFO"},
        "with": "mpi",
    },
    "mpiexec -n 4 -genv OMP_NUM_THREADS 2 python t.py": {"gpus": 4, "env": {"OMP_NUM_THREADS": "2"}},
    "srun -N4 --gpus-per-node=8 -p big -t 2:00:00 torchrun --nproc_per_node 8 t.py": {
        "gpus": 8,
        "with": "slurm",
        "count": 4,
        "time": "2:00:00",
    },
    "srun --nodes=2 --ntasks-per-node=4 --cpus-per-task 8 python t.py": {
        "gpus": 4,
        "with": "slurm",
        "count": 2,
        "extra": ("--cpus-per-task=32",),  # one task per node, which starts the four ranks
    },
    "srun -w node[1-2] --ntasks=8 python t.py": {"gpus": 4, "nodes": ["node1", "node2"], "with": "slurm"},
    "OMP_NUM_THREADS=1 python -W ignore -X faulthandler -OO t.py": {
        "env": {
            "OMP_NUM_THREADS": "1",
            "PYTHONWARNINGS": "ignore",
            "PYTHONFAULTHANDLER": "1",
            "PYTHONOPTIMIZE": "2",
        }
    },
    "env A=1 nohup torchrun --nproc_per_node=2 t.py": {"gpus": 2, "env": {"A": "1"}},
    "CUDA_VISIBLE_DEVICES=1,3 torchrun t.py": {"gpus": 2, "env": {"CUDA_VISIBLE_DEVICES": "1,3"}},
    "/opt/env/bin/python t.py": {"python": "/opt/env/bin/python"},
    "composer -n 8 --master_port 1234 t.py": {"gpus": 8, "port": 1234},
    "fabric run --devices=4 --precision 16 t.py": {
        "gpus": 4,
        "env": {"LT_DEVICES": "4", "LT_PRECISION": "16", "LT_CLI_USED": "1"},
    },
    "colossalai run --nproc_per_node 2 --host a,b t.py": {"gpus": 2, "nodes": ["a", "b"], "with": "ssh"},
    "uv run --frozen torchrun --nproc_per_node=2 t.py": {"gpus": 2, "python": ".venv/bin/python"},
    "tune run --nproc_per_node 2 ./t.py --config c.yaml": {"gpus": 2, "words": ("--config", "c.yaml")},
}


@pytest.mark.parametrize("line", UNDERSTOOD)
def test_what_launchers_say_becomes_keys(line: str) -> None:
    run, wanted = typed(line), UNDERSTOOD[line]
    assert run.train.command == (str(Path("t.py").resolve()), *wanted.get("words", ()))
    assert run.gpus.count == wanted.get("gpus", 1)
    assert [n.name for n in run.cluster.nodes] == wanted.get("nodes", [n.name for n in run.cluster.nodes])
    assert len(run.cluster.nodes) == wanted.get("count", len(wanted.get("nodes", ["localhost"])))
    assert dict(run.env) == wanted.get("env", {})
    assert run.launch.with_ == wanted.get("with", "local")
    assert run.launch.restarts == wanted.get("restarts", 0)
    assert run.launch.time == wanted.get("time")
    assert run.launch.extra == wanted.get("extra", ())
    assert run.network.port == wanted.get("port", 0)
    assert run.environment.python == wanted.get("python")
    assert ids(run) == (["gpus-not-said"] if "=gpu" in line else [])


PASTEABLE = [
    "A=1 B='x: y' torchrun --nproc_per_node 8 --master_port 29511 t.py --x 'y, z' '$HOME'",
    "deepspeed --include=a:0,1@b:0,1 t.py",
    "mpirun -np 16 -H a:8,b:8 -x NCCL_DEBUG=INFO python t.py",
]


@pytest.mark.parametrize("line", PASTEABLE)
def test_the_note_about_a_launcher_gives_keys_that_read_as_the_same_run(line: str) -> None:
    nodes = "" if "a:" in line else "nodes: a\n"
    run = loads(f"{nodes}train: {{command: {json.dumps(line)}}}\n", "r.yaml")
    note = [one for one in run.notes if one.id == "launcher-dropped"][-1]
    again = loads(nodes + note.fix.replace("; ", "\n"), "r.yaml")
    for part in ("train", "gpus", "env", "network", "launch"):
        assert getattr(again, part) == getattr(run, part)
    assert [one.name for one in again.cluster.nodes] == [one.name for one in run.cluster.nodes]


def test_an_option_of_srun_beside_the_run_files_own_is_a_contradiction() -> None:
    file = "nodes: node[1-2]\ngpus: 8\nlaunch: {with: slurm, extra: [--qos=x]}\n"
    run = loads(file + "train: {command: 'srun --gres=lustre:1 torchrun t.py'}\n", "r.yaml")
    assert run.launch.extra == ("--qos=x",)
    assert [note.id for note in run.notes] == ["launcher-contradicts", "launcher-dropped"]


CONSOLE = {
    "swift sft --model m": ("swift.cli.sft", "--model", "m"),
    "megatron sft --model m": ("swift.cli._megatron.sft", "--model", "m"),
    "trl sft --num_processes 4 --learning_rate 1e-5": ("trl.scripts.sft", "--learning_rate", "1e-5"),
    "axolotl train c.yml --launcher torchrun -- --nproc_per_node=4": ("axolotl.cli.train", "c.yml"),
    "accelerate launch --num_processes 4 -m axolotl.cli.train c.yml": ("axolotl.cli.train", "c.yml"),
    "litgpt finetune_lora m --devices 4": ("litgpt", "finetune_lora", "m", "--devices", "4"),
}


@pytest.mark.parametrize("line", CONSOLE)
def test_a_frameworks_own_program_is_its_module(line: str) -> None:
    run = typed(line)
    assert run.train.command == ("-m", *CONSOLE[line])
    assert run.gpus.count == (4 if "4" in line.replace("-4", "") else 1)


def test_a_ray_job_brings_its_cluster_its_folder_and_its_variables() -> None:
    line = "ray job submit --address http://head:8265 --working-dir . --runtime-env-json "
    run = typed(line + """'{"env_vars": {"A": "1"}, "pip": ["x"]}' -- python t.py""")
    assert (run.launch.with_, run.launch.address, run.code) == ("ray", "head:8265", ".")
    assert (run.train.command, run.train.workdir, dict(run.env)) == (("t.py",), None, {"A": "1"})
    assert "shell-left-out" in ids(run)


REFUSED = {
    "torchrun --nnodes 4 --nproc_per_node 8 t.py": "torchrun --nnodes 4: 4 machines, and none is named.",
    "torchrun --nproc_pre_node 8 t.py": "train.command: --nproc_pre_node is not an option of torchrun that is "
    "known here.",
    "torchrun --nproc_per_node eight t.py": "train.command: torchrun --nproc_per_node eight: eight is not a number.",
    "torchrun --nproc_per_node": "train.command: torchrun --nproc_per_node: nothing follows it.",
    "t.py --out '$OUT'": "train.command: $OUT: $OUT is not set.",
    "python -c 'import a'": "train.command: python -c.",
    "python -I t.py": "train.command: python -I.",
    "bash -c 'torchrun a.py; torchrun b.py'": "train.command: bash -c: 2 commands that train (line 1: torchrun and "
    "line 1: torchrun).",
    "mpirun -np 3 -H a,b python t.py": "train.command: mpirun -np 3: 3 ranks on 2 machines.",
    "deepspeed --include a:0@b:1 t.py": "train.command: deepspeed --include a:0@b:1: the GPUs differ between the "
    "machines.",
    "ray start --head": "train.command: ray start --head does not start a training.",
    "env -i t.py": "train.command: env -i.",
    "tune run --nproc_per_node 2 full_finetune_distributed --config c.yaml": "train.command: "
    "full_finetune_distributed is a name that only torchtune resolves, to a file inside its package.",
    "wrapper exec deepspeed t.py": "train.command: wrapper comes before deepspeed, and is not known here.",
    "docker run image torchrun t.py": "train.command: docker is not a Python script.",
}


@pytest.mark.parametrize("line", REFUSED)
def test_what_cannot_be_done_is_one_error_of_the_command_line(line: str) -> None:
    assert problem(line) == REFUSED[line]


CONTRADICTIONS = {
    "gpus: 4\ntrain: {command: torchrun --nproc_per_node 8 t.py}": "torchrun --nproc_per_node 8 against gpus: 4.",
    "train: {command: torchrun --nnodes 3 t.py}": "torchrun --nnodes 3, and the run has 2 machines.",
    "train: {command: deepspeed --num_gpus 2 --master_port 1234 t.py}\nnetwork: {port: 5}": "deepspeed "
    "--master_port 1234 against network.port: 5.",
    "train: {command: A=1 python t.py}\nenv: {A: 2}": "A=1 against env.A: 2.",
    "train: {command: srun --ntasks-per-node=2 torchrun t.py}": "srun --ntasks-per-node=2 against torchrun, which "
    "starts the ranks of a node itself.",
    "train: {command: torchrun --master_addr n2 t.py}": "n2 should lead, and n1 is the first node.",
    "gpus: 8\ntrain: {command: mpirun -np 8 python t.py}": "mpirun -np 8, and the run has 16 ranks.",
    "train: {command: torchrun --standalone --nnodes 2 t.py}": "torchrun --nnodes 2 against torchrun --standalone.",
}


@pytest.mark.parametrize("text", CONTRADICTIONS)
def test_two_who_speak_of_one_thing_are_a_warning(text: str) -> None:
    run = loads("nodes: n[1-2]\n" + text)
    found = [note for note in run.notes if note.id == "launcher-contradicts"]
    assert [note.verdict for note in found][:1] == ["warn"]
    assert found[0].saw == f"train.command: {CONTRADICTIONS[text]}"
    assert found[0].where.line is not None


SHELL: dict[str, tuple[tuple[str, ...], dict[str, str], list[str]]] = {
    "train.py > log 2>&1": (("train.py",), {}, ["shell-left-out"]),
    "nohup train.py &": (("train.py",), {}, ["shell-left-out"]),
    "python train.py 2>&1 | tee log": (("train.py",), {}, ["shell-left-out", "shell-left-out"]),
    "export A=1; B=2 python train.py $A ${C:-3}": (("train.py", "1", "3"), {"A": "1", "B": "2"}, []),
    "cd src && python train.py": (("src/train.py",), {}, []),
    "train.py --x '$A' \"\\$B\" '>' 'a;b'": (("train.py", "--x", "$A", "$B", ">", "a;b"), {}, []),
    "train.py $OUT/x": (("train.py", "/o/x"), {}, []),
    "train.py\\\n  --x 1  # that is all": (("train.py", "--x", "1"), {}, []),
}


@pytest.mark.parametrize("command", SHELL)
def test_shell_syntax_is_understood(command: str) -> None:
    lines = "\n".join(f"    {line}" for line in command.split("\n"))
    run = loads(f"nodes: localhost\nenv: {{OUT: /o}}\ntrain:\n  command: |-\n{lines}\n")
    words, env, noted = SHELL[command]
    assert (run.train.command, {k: v for k, v in run.env.items() if k != "OUT"}) == (words, env)
    assert ids(run) == noted


@pytest.mark.parametrize(
    "command",
    [
        "python a.py && python b.py",
        "python a.py; rm -rf /x",
        "for i in 1 2; do python a.py; done",
        "pip install x && python a.py",
        "python a.py || python b.py",
        "python a.py --x $(date)",
        "python a.py --x `date`",
        "python a.py $OUT",
        "python a.py 'x",
    ],
)
def test_shell_syntax_that_is_not_is_refused_and_never_an_argument(command: str) -> None:
    with pytest.raises(BadInput) as error:
        loads(f"nodes: n\ntrain:\n  command: |-\n    {command}\n", "r.yaml")
    (found,) = error.value.problems
    assert (found.file, found.line) == ("r.yaml", 3) and found.do


def test_variables_in_a_list_are_resolved_or_refused() -> None:
    text = "nodes: n\nenv: {A: /a}\ntrain: {command: [t.py, $A/x, '${A}', '\\$B', '$;`', 'a$']}\n"
    assert loads(text).train.command == ("t.py", "/a/x", "/a", "$B", "$;`", "a$")
    with pytest.raises(BadInput, match=r"\$\{B\} is not set|\$B is not set"):
        loads("nodes: n\ntrain: {command: [t.py, '${B}']}")


SCRIPT = """\
#!/bin/bash
set -euo pipefail
# where everything lies
cd "$(dirname "$0")/.."
module load cuda/12.1
source /opt/env/bin/activate
export NCCL_DEBUG=INFO
export MASTER_ADDR=$(hostname)
export STAMP=$(date +%s)
GPUS=${1:-8}
ARGS=(--lr 1e-5 --name "a b")
if [ -n "$DEBUG" ]; then
  export NCCL_DEBUG=TRACE_ALL
fi
mkdir -p logs
cat > notes <<EOF
torchrun never.py $GPUS
EOF
torchrun --nproc_per_node=$GPUS \\
  --master_addr $MASTER_ADDR \\
  src/train.py "${ARGS[@]}" > logs/out 2>&1
echo done
"""


BRANCHES = """\
OUT=$1
STAGE=$2
if [ "$OUT" == "" ]; then
  OUT=/out
fi
if [[ -z $STAGE ]]; then STAGE=3; elif [ $STAGE -eq 1 ]; then STAGE=one; else STAGE="zero$STAGE"; fi
MORE=
[ "$OUT" = /out ] && MORE="--more"
CMD="$LAUNCHER train.py --out $OUT"
for f in a b; do LOOP=$f; done
deepspeed --master_port $PORT train.py --out $OUT --stage $STAGE $MORE
"""

SUMS = {
    "$((N * 4 / 3))": "10",
    "$(expr 16 / $N)": "2",
    "$(( (N+1) % 5 ))": "4",
    "${P%.sh}": "/a/b.c",
    "${P%%.*}": "/a/b",
    "${P##*/}": "b.c.sh",
    "${P//\\//_}": "_a_b.c.sh",
    "${P/b/x}": "/a/x.c.sh",
}


@pytest.mark.parametrize("text", SUMS)
def test_sums_and_cut_values_are_what_bash_makes_of_them(tmp_path: Path, text: str) -> None:
    path = tmp_path / "train.sh"
    path.write_text(f"N=8\nP=/a/b.c.sh\ntorchrun t.py --x {text}\n")
    assert typed(f"bash {path}").train.command[1:] == ("--x", SUMS[text])
    asked = subprocess.run(["bash", "-c", f"N=8; P=/a/b.c.sh; echo {text}"], capture_output=True, text=True)
    assert asked.stdout.strip() == SUMS[text]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("", ("--out", "/out", "--stage", "3", "--more")),
        ("/o 1", ("--out", "/o", "--stage", "one")),
        ("/o 2", ("--out", "/o", "--stage", "zero2")),
    ],
)
def test_conditions_that_can_be_known_are(tmp_path: Path, arguments: str, words: tuple[str, ...]) -> None:
    path = tmp_path / "train.sh"
    path.write_text(BRANCHES)
    assert typed(f"bash {path} {arguments}").train.command[1:] == words
    path.write_text(BRANCHES.replace("$MORE", "$LOOP"))
    assert problem(f"bash {path} {arguments}") == (
        "train.command: $LOOP: only a shell knows what the script sets $LOOP to."
    )


def test_a_command_for_eval_is_followed(tmp_path: Path) -> None:
    path = tmp_path / "train.sh"
    path.write_text(
        'ARGS="--x \'a b\'"\ncmd="deepspeed --num_gpus 4 t.py $ARGS"\necho $cmd\neval $cmd > log\n'
    )
    run = typed(f"bash {path}")
    assert (run.train.command[1:], run.gpus.count, ids(run)) == (("--x", "a b"), 4, ["shell-left-out"])


def test_a_command_in_a_variable_is_followed(tmp_path: Path) -> None:
    path = tmp_path / "job.slurm"
    path.write_text(
        "#SBATCH --nodes=2\nHEAD=$(scontrol show hostnames | head -1)\n"
        'export L="accelerate launch --num_processes 16 --num_machines $SLURM_NNODES --main_process_ip $HEAD"\n'
        'export CMD="$L train.py --x 1"\nsrun $CMD\n'
    )
    run = typed(f"sbatch {path}")
    assert (run.train.command[1:], run.gpus.count, len(run.cluster.nodes)) == (("--x", "1"), 8, 2)


def test_a_shell_script_is_read_without_running_it(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts" / "train.sh").write_text(SCRIPT)
    monkeypatch.chdir(tmp_path)
    run = typed("A=1 bash scripts/train.sh 4")
    assert run.train.command == (str(tmp_path / "src/train.py"), "--lr", "1e-5", "--name", "a b")
    assert (run.gpus.count, run.train.workdir) == (4, str(tmp_path))
    assert (run.environment.modules, run.environment.activate) == (("cuda/12.1",), "/opt/env/bin/activate")
    # Whether the `if` is taken, nobody here knows.
    assert dict(run.env) == {"A": "1"}
    left = [note.saw for note in run.notes if note.id == "shell-left-out"]
    assert any("STAMP" in text for text in left) and any("mkdir -p logs" in text for text in left)
    assert not any("MASTER_ADDR" in text for text in left)


@pytest.mark.parametrize(
    ("text", "saw"),
    [
        ("echo hi\n", "it names no script."),
        ("torchrun a.py\ntorchrun b.py\n", "2 commands that train (line 1: torchrun and line 2: torchrun)."),
        (
            "for i in 1 2; do\n  torchrun a.py\ndone\n",
            "line 2: torchrun is in an `if`, a loop or a function.",
        ),
        ("torchrun a.py --x $X\n", None),
    ],
)
def test_a_script_without_one_training_is_refused(tmp_path: Path, text: str, saw: str | None) -> None:
    path = tmp_path / "train.sh"
    path.write_text(text)
    found = problem(f"bash {path}")
    assert found == (f"train.command: {path}: {saw}" if saw else "train.command: $X: $X is not set.")


@pytest.mark.parametrize(
    "line", [*UNDERSTOOD, "t.py 'a b' '$;x' '\\$HOME' '' '1e-5' \"it's\"", "python -m a.b x"]
)
def test_what_is_saved_reads_back_as_the_same_run(tmp_path: Path, monkeypatch, line: str) -> None:
    monkeypatch.chdir(tmp_path)
    for keys in ({}, {"cpu": True}, {"gpus": 3}):
        run = typed(line, **keys)
        Path("run.yaml").write_text(run.text)
        again = spec.load("run.yaml")
        apart = ("file", "lines", "lines_in", "notes", "text", "typed")
        assert {k: v for k, v in vars(again).items() if k not in apart} == {
            k: v for k, v in vars(run).items() if k not in apart
        }
        assert ids(again) == []


ACCELERATE = """\
compute_environment: LOCAL_MACHINE
distributed_type: {kind}
mixed_precision: bf16
num_machines: 2
num_processes: 16
machine_rank: 0
main_process_ip: n1
main_process_port: 29501
{kind_config}: {config}
"""


def test_accelerates_yaml_is_read_and_reaches_the_ranks(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    config = "{fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP, fsdp_offload_params: true}"
    Path("a.yaml").write_text(ACCELERATE.format(kind="FSDP", kind_config="fsdp_config", config=config))
    run = typed("accelerate launch --config_file a.yaml --fsdp_offload_params false t.py", nodes="n[1-2]")
    assert (run.gpus.count, run.network.port, ids(run)) == (8, 29501, [])
    assert run.env["ACCELERATE_MIXED_PRECISION"] == "bf16" and run.env["ACCELERATE_USE_FSDP"] == "true"
    assert run.env["FSDP_AUTO_WRAP_POLICY"] == "TRANSFORMER_BASED_WRAP"
    assert run.env["FSDP_OFFLOAD_PARAMS"] == "false"  # the option wins
    assert (
        ids(typed("accelerate launch --config_file a.yaml t.py", nodes="n[1-3]"))
        == ["launcher-contradicts"] * 2
    )


def test_a_port_of_accelerates_yaml_that_is_none_is_refused(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("acc.yaml").write_text("num_processes: 4\nmain_process_port: http\n")
    assert problem("accelerate launch --config_file acc.yaml t.py") == "train.command: http is not a port."


def test_accelerates_own_default_is_read_where_it_would_be(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    path = tmp_path / ".cache/huggingface/accelerate/default_config.yaml"
    path.parent.mkdir(parents=True)
    path.write_text("distributed_type: MULTI_GPU\nmixed_precision: fp16\nnum_processes: 4\nnum_machines: 1\n")
    run = typed("accelerate launch -m pkg.train --x 1")
    assert (run.gpus.count, run.env["ACCELERATE_MIXED_PRECISION"]) == (4, "fp16")
    assert run.train.command == ("-m", "pkg.train", "--x", "1")


@pytest.mark.parametrize(
    ("line", "saw"),
    [
        ("accelerate config", "accelerate config does not start a training."),
        ("accelerate launch --tpu t.py", "accelerate --tpu."),
        ("tune run --nproc_per_node 2 recipe.py", "recipe.py without --config."),
        ("accelerate launch --max_restarts many t.py", "many is not a number."),
        ("accelerate launch --config_file no.yaml t.py", "no.yaml: file not found."),
        (
            "accelerate launch --num_processes 3 --num_machines 2 t.py",
            "accelerate --num_processes 3: 3 ranks on 2 machines.",
        ),
    ],
)
def test_what_a_launcher_cannot_be_is_refused(line: str, saw: str) -> None:
    assert problem(line) == f"train.command: {saw}"


LLAMAFACTORY = (
    "torchrun --nproc_per_node 8 src/train.py --stage sft --do_train --model_name_or_path /m --dataset a,b "
    "--lora_target q_proj,v_proj --learning_rate 1e-5 --bf16 True --report_to none --output_dir /out "
    "--deepspeed ds.json --save_steps=50"
)


def test_llamafactorys_arguments_are_those_of_its_yaml() -> None:
    run = typed(LLAMAFACTORY)
    asked = {**run.train.arguments}
    assert (run.train.kind, run.gpus.count, run.save.to, run.save.every) == ("llamafactory", 8, "/out", 50)
    assert (run.deepspeed, asked["learning_rate"], asked["bf16"], asked["do_train"]) == (
        "ds.json",
        1e-5,
        True,
        True,
    )
    assert (asked["lora_target"], asked["dataset"]) == ("q_proj,v_proj", "a,b")
    installed = LLAMAFACTORY.replace(
        "src/train.py", "/env/lib/python3.11/site-packages/llamafactory/launcher.py"
    )
    assert typed(installed).train.arguments == run.train.arguments
    assert ids(run) == []
    assert ids(typed(LLAMAFACTORY.replace("--deepspeed ds.json ", ""))) == ["deepspeed-added"]
    # Another program's train.py stays what it is.
    assert typed("torchrun src/train.py --model_name_or_path m --bf16 True").train.kind == "command"


def test_llamafactorys_yaml_in_a_command_is_its_yaml(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x.yaml").write_text("stage: sft\nmodel_name_or_path: m\nlearning_rate: 1e-4\n")
    line = "FORCE_TORCHRUN=1 NPROC_PER_NODE=4 llamafactory-cli train x.yaml learning_rate=1e-5 max_steps=3"
    run = typed(line)
    assert (run.train.kind, run.gpus.count, dict(run.env)) == ("llamafactory", 4, {})
    assert dict(run.train.arguments) == {
        "stage": "sft",
        "model_name_or_path": "m",
        "learning_rate": 1e-5,
        "max_steps": 3,
    }
    assert run.where("train.llamafactory.stage").file == "x.yaml"
    assert typed("llamafactory-cli train x.yaml").train.source == "x.yaml"
    assert problem("llamafactory-cli export x.yaml") == (
        "train.command: llamafactory-cli export does not start a training."
    )
    first = "-m llamafactory.v1.launcher sft x.yaml"
    assert " ".join(typed("USE_V1=1 llamafactory-cli sft x.yaml").train.command) == first


LLAMAFACTORYS: dict[str, tuple[str, ...] | None] = {
    "-m llamafactory.cli train a.yaml": ("train", "a.yaml"),
    "-m llamafactory.cli": (),
    "-m": None,
    "-m axolotl.cli train": None,
    "src/train.py a.yaml": ("a.yaml",),
    "/opt/LLaMA-Factory/src/train.py a.yml": ("a.yml",),
    "src/train.py a.yaml --stage sft": None,
    "train.py a.yaml": None,
    "src/train.py --stage sft --template default": ("--stage", "sft", "--template", "default"),
    "src/train.py --stage sft": None,
    "src/train.py --template default --dataset_dir d": None,
    "mine.py --stage sft --template default": None,
}


@pytest.mark.parametrize("words", LLAMAFACTORYS)
def test_what_is_llamafactorys_own(words: str) -> None:
    found, wanted = recognized(words.split()), LLAMAFACTORYS[words]
    assert found == (None if wanted is None else list(wanted))


def test_programs_before_a_script_are_taken_off_up_to_a_number() -> None:
    assert typed(f"{'env A=1 ' * 11}python t.py").train.command[0].endswith("t.py")
    for more, left in ((0, ["t.py"]), (1, ["nohup", "t.py"])):
        command = Command(["nohup"] * (12 + more) + ["t.py"], str, print)
        reduce(command)
        assert command.words == left


def options_of(parser: argparse.ArgumentParser) -> dict[str, int]:
    """Each option of argparse by our name for it, and how many words follow it."""
    found = {}
    for action in parser._actions:
        if action.dest != "help" and action.option_strings:
            for name in action.option_strings:
                found[name.lstrip("-").replace("_", "-")] = 0 if action.nargs == 0 else 1
    return found


def known_to(program: str) -> dict[str, int]:
    return {name: option.takes for name, option in forms()[program].options.items()}


@pytest.mark.training
def test_torchruns_options_are_torchs_own() -> None:
    from torch.distributed.run import get_args_parser

    theirs = options_of(get_args_parser())
    assert theirs.items() <= known_to("torchrun").items()


@pytest.mark.training
def test_deepspeeds_options_are_its_own(monkeypatch) -> None:
    from deepspeed.launcher import runner

    found: list[argparse.ArgumentParser] = []

    def seen(self: argparse.ArgumentParser, *args: Any, **keys: Any) -> None:
        found.append(self)
        raise LookupError

    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", seen)
    with pytest.raises(LookupError):
        runner.parse_args([])
    assert options_of(found[0]).items() <= known_to("deepspeed").items()


@pytest.mark.training
def test_accelerates_options_are_its_own() -> None:
    from accelerate.commands.launch import launch_command_parser

    theirs = options_of(launch_command_parser())
    theirs["use-xpu"] = 0
    assert theirs.items() <= known_to("accelerate").items()


@pytest.mark.training
@pytest.mark.parametrize(
    "line",
    [
        "--mixed_precision bf16",
        "--use_fsdp --fsdp_version 2 --fsdp_sharding_strategy HYBRID_SHARD --fsdp_state_dict_type SHARDED_STATE_DICT",
        "--use_fsdp --fsdp_transformer_layer_cls_to_wrap LlamaDecoderLayer --fsdp_backward_prefetch BACKWARD_PRE",
        "--use_deepspeed --zero_stage 3 --offload_optimizer_device CPU --zero3_init_flag True --gradient_clipping 1.0",
        "--use_deepspeed --deepspeed_config_file ds.json --gradient_accumulation_steps 4",
        "--dynamo_backend inductor --dynamo_use_dynamic",
        "--gpu_ids 0,1 --num_cpu_threads_per_process 3 --debug",
    ],
)
def test_accelerates_variables_are_what_its_launcher_sets(monkeypatch, line: str) -> None:
    from accelerate.commands import launch
    from accelerate.utils import launch as utils

    args = launch.launch_command_parser().parse_args([*shlex.split(line), "--num_processes=2", "t.py"])
    args, _, _ = launch._validate_launch_command(args)
    args.deepspeed_fields_from_accelerate_config = ""
    monkeypatch.setattr(utils, "is_port_in_use", lambda *_: False)
    prepare = utils.prepare_multi_gpu_env
    if args.use_deepspeed:
        prepare = lambda args: utils.prepare_deepspeed_cmd_env(args)[1]  # noqa: E731
    before = dict(os.environ)
    theirs = {k: v for k, v in prepare(args).items() if before.get(k) != v}
    ours = dict(typed(f"accelerate launch --num_processes=2 {line} t.py").env)
    # What it sets although nobody asked for it is what a script takes anyway.
    defaults = {"OMP_NUM_THREADS": "1", "PYTHONPATH": theirs.get("PYTHONPATH")}
    defaults |= {
        k: v
        for k, v in theirs.items()
        if k.startswith("ACCELERATE_DYNAMO") and v in ("NO", "default", "False")
    }
    assert {**defaults, **ours} == {**defaults, **theirs}
