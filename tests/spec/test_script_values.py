"""What public training scripts do with arguments, variables, folders and helpers, and how it is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from allranks.core import BadInput
from allranks.spec import Run, Typed, load_typed

TORCHRUN = "torchrun --nproc_per_node 8 train.py"
SBATCH = "#!/bin/bash\n"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read(script: str, *arguments: str, program: str = "bash", gpus: int | None = None) -> Run:
    Path("train.sh").write_text(script + "\n")
    return load_typed(Typed(words=(program, "train.sh", *arguments)), gpus_here=lambda: gpus)


def words(script: str, *arguments: str) -> tuple[str, ...]:
    return read(script, *arguments).train.command[1:]


def notes(run: Run) -> dict[str, str]:
    return {note.saw.removeprefix("train.command: "): note.why for note in run.notes}


def problem(script: str, *arguments: str) -> str:
    with pytest.raises(BadInput) as caught:
        read(script, *arguments)
    (found,) = caught.value.problems
    return found.saw


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        (f'{TORCHRUN} --lr 1 "$@"', ("--lr", "1")),
        (f'EXTRA=()\n{TORCHRUN} "${{EXTRA[@]}}" --lr 1', ("--lr", "1")),
        (f'{TORCHRUN} "a$@" ""', ("a", "")),
        (f'RESUME=latest\n{TORCHRUN} ${{RESUME:+--resume "$RESUME"}}', ("--resume", "latest")),
        (f'NO=\n{TORCHRUN} ${{NO:+--no "$NO"}} ${{NEITHER+--x}}', ()),
        (f'A=1\n{TORCHRUN} "${{A:+--a $A}}"', ("--a 1",)),
        (f"{TORCHRUN} ${{1:-x}} $#", ("x", "0")),
        (f"OUT=$1\n{TORCHRUN} ${{OUT:-out}}", ("out",)),
        (f'OUT=$1\nif [ "$OUT" = "" ]; then OUT=o; fi\n{TORCHRUN} $OUT', ("o",)),
    ],
)
def test_words_are_what_bash_makes_of_them(script: str, expected: tuple[str, ...]) -> None:
    assert words(script) == expected


def test_an_argument_that_is_not_given_is_asked_for() -> None:
    assert (
        problem(f"{TORCHRUN} --out $1")
        == "train.command: $1: $1 is an argument of the script, and it is not given."
    )
    assert "$2 is an argument of the script" in problem(f'{TORCHRUN} --out $1 --name="$2"', "one")
    assert words(f'{TORCHRUN} --out $1 --name="$2"', "one", "two") == ("--out", "one", "--name=two")
    assert "$2 is an argument" in problem(f"shift\n{TORCHRUN} $1", "one")
    assert words(f"shift\n{TORCHRUN} $1", "one", "two") == ("two",)


def test_a_variable_that_an_if_sets_is_named_as_such() -> None:
    said = problem(f"if [ -f /x/y ]; then A=3; fi\n{TORCHRUN} --a $A")
    assert said == "train.command: $A: only a shell knows what the script sets $A to."


@pytest.mark.parametrize("option", ["torchrun --nproc_per_node $N", "accelerate launch --num_processes $N"])
@pytest.mark.parametrize("gpus", [None, 4])
def test_a_number_of_ranks_that_only_a_shell_knows_is_told(option: str, gpus: int | None) -> None:
    run = read(f"N=$(nvidia-smi -L | wc -l)\n{option} train.py", gpus=gpus)
    (note,) = [note for note in run.notes if note.id == "gpus-not-said"]
    assert run.gpus.count == (gpus or 1) and "$(nvidia-smi -L | wc -l)" in note.saw
    assert note.why == (
        "that is the number of GPUs of this machine." if gpus else "no GPU was found on this machine."
    )
    assert not [note for note in read(TORCHRUN).notes if note.id == "gpus-not-said"]


def test_search_paths_of_libraries_are_kept_or_named() -> None:
    run = read(
        'export PYTHONPATH="/work/x${PYTHONPATH:+:$PYTHONPATH}"\n'
        f"export LD_LIBRARY_PATH=/efa/lib:$LD_LIBRARY_PATH PATH=/x/bin:$PATH\n{TORCHRUN}"
    )
    assert run.env["PYTHONPATH"] == "/work/x" and not {"LD_LIBRARY_PATH", "PATH"} & set(run.env)
    assert (
        notes(run)["LD_LIBRARY_PATH=/efa/lib:$LD_LIBRARY_PATH is left out."]
        == "$LD_LIBRARY_PATH is not known here."
    )


@pytest.mark.parametrize(
    "script",
    [
        f"sudo -E env A=$X {TORCHRUN}",
        f"nohup env A=$X {TORCHRUN}",
        f"srun --export=ALL,A=$X {TORCHRUN}",
        f"A=$X {TORCHRUN}",
    ],
)
def test_no_variable_is_the_text_of_another(script: str) -> None:
    run = read(script)
    assert "A" not in run.env
    assert "$X is not known here." in notes(run).values()


@pytest.mark.parametrize(
    ("lines", "gpus"),
    [
        ("#SBATCH --nodes=1\n#SBATCH --gpus=4\ntorchrun --standalone --nproc_per_node=gpu train.py", 4),
        ("#SBATCH -N 2\n#SBATCH -G a100:8\nsrun torchrun --nproc_per_node=$SLURM_GPUS_ON_NODE train.py", 4),
        ("#SBATCH -N 2\n#SBATCH --gpus-per-task=4\n#SBATCH --ntasks-per-node=1\nsrun torchrun train.py", 4),
        ("#SBATCH -N 2\n#SBATCH -n 4\n#SBATCH --gpus-per-task=2\nsrun python train.py", 2),
        ("#SBATCH --gpus-per-node=2\n#SBATCH --gpus=8\nsrun torchrun train.py", 2),
    ],
)
def test_the_gpus_of_a_job_or_a_task_are_those_of_its_nodes(lines: str, gpus: int) -> None:
    assert read(SBATCH + lines, program="sbatch").gpus.count == gpus


def test_folders_are_left_again(here: Path) -> None:
    run = read(f"cd sub\npushd /data\npushd more\npopd\npopd\n{TORCHRUN}")
    assert run.train.workdir == str(here / "sub")
    assert read(f"cd $HOME/proj\n{TORCHRUN}").train.workdir == "~/proj"
    assert read("torchrun --nproc_per_node 8 ${HOME}/proj/train.py").train.command[0] == "~/proj/train.py"
    assert "which home ~ (or $HOME) is" in problem(f"{TORCHRUN} --data $HOME/d")


@pytest.mark.parametrize(
    "helper",
    [
        "srun hostname",
        "srun --ntasks=2 mkdir -p x",
        "srun bash -c 'mkdir x && cp a b'",
        "nohup nvidia-smi dmon &",
        "sudo apt-get install x",
        "time make",
        "exec > log",
        "command -v torchrun",
        "env",
        "env A=1 hostname",
    ],
)
def test_a_helper_is_no_training(helper: str) -> None:
    run = read(f"{helper}\nsrun torchrun --nnodes 2 --nproc_per_node 4 train.py --x 1")
    assert (run.gpus.count, run.train.command[1:]) == (4, ("--x", "1"))


@pytest.mark.parametrize(
    "before", ["env OMP_NUM_THREADS=3", "exec env OMP_NUM_THREADS=3", "OMP_NUM_THREADS=3 time"]
)
def test_a_program_that_starts_the_training_is_taken_off(before: str) -> None:
    run = read(f"{before} {TORCHRUN} --x 1")
    assert (run.gpus.count, run.train.command[1:], run.env["OMP_NUM_THREADS"]) == (8, ("--x", "1"), "3")


@pytest.mark.parametrize(
    "options",
    [
        "torchrun --rdzv_backend c10d --rdzv_endpoint=localhost:0",
        "torchrun --master_port 0",
        "accelerate launch --main_process_port 0",
        "accelerate launch --main_process_port $MASTER_PORT",
        "accelerate launch --main_process_port $((RANDOM % 1000 + 29000))",
    ],
)
def test_any_free_port_is_none_of_the_run(options: str) -> None:
    other = read("torchrun train.py").network.rendezvous_port
    assert read(f"{options} train.py").network.rendezvous_port == other


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (
            f'CMD="{TORCHRUN} --seed $(date +%s)"\neval $CMD',
            "line 2: $(date +%s) in eval ${CMD} is not known here.",
        ),
        (
            'if [ -n "$Q" ]; then L=torchrun; fi\n$L train.py',
            "line 2: $L in ${L} train.py is not known here.",
        ),
    ],
)
def test_a_training_that_nobody_can_read_is_named(script: str, said: str) -> None:
    assert problem(script).endswith(said)


def test_options_of_srun_that_a_site_has() -> None:
    run = read("srun --gres-flags=enforce-binding --contiguous -L lic:2 python main.py")
    assert run.launch.extra == ("--gres-flags=enforce-binding", "--contiguous", "-Llic:2")
    with pytest.raises(BadInput, match="container"):
        read(SBATCH + "#SBATCH --image=foo\nsrun python main.py", program="sbatch")


@pytest.mark.parametrize("path", ["$(conda info --base)", "$HOME/miniconda3", "~/miniconda3"])
def test_condas_own_script_needs_no_note(path: str) -> None:
    run = read(f'source "{path}/etc/profile.d/conda.sh"\nconda activate sft\nsource .env\n{TORCHRUN}')
    assert run.environment.conda == "sft" and str(run.environment.activate).endswith("/.env")
    assert not [saw for saw in notes(run) if "conda" in saw]


def test_an_environment_that_is_not_known_replaces_the_one_before() -> None:
    run = read(f"source /opt/miniconda3/bin/activate\nconda activate $WHICH\n{TORCHRUN}")
    assert (run.environment.conda, run.environment.python) == (None, None)


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("torchrun --nnodes=$NNODES --nproc_per_node=8 train.py", "the run gets this machine alone"),
        ("accelerate launch --num_machines $M --num_processes 8 train.py", "the run gets this machine alone"),
        ("deepspeed train.py", "the number in deepspeed is not known here: the run gets 1."),
        ("accelerate launch train.py", "the number in accelerate is not known here: the run gets 1."),
    ],
)
def test_a_number_that_is_guessed_is_told(script: str, told: str) -> None:
    (note,) = [note for note in read(script).notes if note.id == "gpus-not-said"]
    assert told in note.saw
    if "$" not in script:
        assert not [note for note in read(script, gpus=8).notes if note.id == "gpus-not-said"]


@pytest.mark.parametrize(
    ("words_of_script", "expected"),
    [
        ("${@:3}", ("c", "d e")),
        ('"${@:2}"', ("b", "c", "d e")),
        ("${*:4}", ("d e",)),
        ("${@:9}", ()),
        ("$2 ${@: 3}", ("b", "c", "d e")),
    ],
)
def test_a_part_of_the_arguments(words_of_script: str, expected: tuple[str, ...]) -> None:
    given = ("a", "b", "c", "d e")
    found = words(f"{TORCHRUN} {words_of_script}", *given)
    assert found == expected or (" ".join(found) == " ".join(expected) and '"' not in words_of_script)
    assert words(f"L=(x y z)\n{TORCHRUN} " + '"${L[@]:1}"') == ("y", "z")


@pytest.mark.parametrize("condition", ['[[ "$1" != "" ]]', "[[ $# -gt 0 ]]", "[ $# -gt 0 ]"])
def test_the_loop_over_options_does_not_run_without_any(condition: str) -> None:
    script = f"M=a\nwhile {condition}; do case $1 in -m) shift; M=$1;; esac; shift; done\n{TORCHRUN} --m $M"
    assert words(script) == ("--m", "a")
    assert "only a shell knows what the script sets $M to" in problem(script, "-m", "b")


READ = 'read -r -d "" C <<EOF'
"""How a script takes several lines into a variable."""


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        (
            f'A=\n{READ}\n  train.py --a 1 \\\n   --b "$A"\n --c\nEOF\ntorchrun $C',
            ("--a", "1", "--b", '""', "--c"),
        ),
        (f"A=2\n{READ}\ntrain.py --a $A\nEOF\n\nif [ ${{1}} != slurm ]; then\ntorchrun $C\nfi", ("--a", "2")),
        ("read C <<EOF\ntrain.py --x\nmore\nEOF\ntorchrun $C", ("--x",)),
        ("A=2\nread -d '' C <<'EOF'\ntrain.py --a \\$A\nEOF\ntorchrun $C", ("--a", "\\$A")),
    ],
)
def test_a_here_document_is_what_read_gets(script: str, expected: tuple[str, ...]) -> None:
    assert words(script) == expected


def test_what_read_gets_from_elsewhere_only_a_shell_knows() -> None:
    assert "what the script sets $C to" in problem(f"read -r C < file\n{TORCHRUN} $C")


@pytest.mark.parametrize(
    ("lines", "modules"),
    [
        ("module purge\nmodule load gcc cuda/12.4\nmodule list", ("gcc", "cuda/12.4")),
        ("module load a b/1 c\nmodule unload b\nmodule swap c d", ("a", "d")),
        ("ml gcc cuda\nml avail\nml -gcc", ("gcc", "cuda")),
        ("module load old\nmodule purge\nV=12\nmodule add cuda/$V", ("cuda/12",)),
    ],
)
def test_modules_are_those_that_are_loaded_in_the_end(lines: str, modules: tuple[str, ...]) -> None:
    assert tuple(read(f"{lines}\n{TORCHRUN}").environment.modules) == modules


def test_a_folder_of_modules_and_a_module_that_nobody_knows_are_named() -> None:
    told = notes(read(f"module use /appl/x\nmodule load cuda/$V\n{TORCHRUN}"))
    assert told["module use /appl/x is left out."] == "the ranks load modules by their names alone."
    assert told["module load cuda/$V is left out."] == "$V is not known here."


def test_no_private_character_reaches_the_ranks() -> None:
    said = problem(f"C=$(cat <<EOF\n--a 1\nEOF\n)\n{TORCHRUN} $C")
    assert "only a shell knows the value" in said and not set(said) & set("\ue000\ue001\ue002")


@pytest.mark.parametrize("name", ["account", "partition"])
def test_what_slurm_sets_from_the_jobs_options_is_known(name: str) -> None:
    lines = f"#SBATCH --{name}=p1\nsrun {TORCHRUN} --o /s/$SLURM_JOB_{name.upper()}/x"
    assert read(SBATCH + lines, program="sbatch").train.command[1:] == ("--o", "/s/p1/x")


@pytest.mark.parametrize("line", ["#PBS -l select=2:ngpus=4", "#BSUB -n 4", "#$ -pe mpi 4"])
def test_lines_to_another_scheduler_are_named(line: str) -> None:
    assert notes(read(f"{line}\n{TORCHRUN}"))[f"{line} is left out."].startswith(
        "the options of this scheduler"
    )
    assert notes(read(f"#PBSX\n#$HOME\n{TORCHRUN}")).keys() == notes(read(TORCHRUN)).keys()


def test_a_launcher_that_is_not_known_is_named() -> None:
    assert problem("echo a\naprun -n 8 python t.py").endswith(
        "line 2: aprun in aprun -n 8 python t.py is not known here."
    )
    assert "singularity is not a Python script" in problem("srun singularity exec i.sif python t.py")


def test_a_configuration_that_an_argument_names_is_asked_for() -> None:
    said = problem("accelerate launch --config_file $1 train.py")
    assert said == "train.command: $1: $1 is an argument of the script, and it is not given."
