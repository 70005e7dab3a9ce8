"""What a script says of its environment: conda by name or folder, `sudo`, and defaults that variables keep."""

from __future__ import annotations

from pathlib import Path

import pytest

from allranks.core import BadInput
from allranks.spec import Run, Typed, load_typed
from allranks.spec import loads as load_text

HOOK = 'eval "$(conda shell.bash hook)"\n'


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read(script: str) -> Run:
    Path("train.sh").write_text(script)
    return load_typed(Typed(words=("bash", "train.sh")))


def left_out(run: Run) -> list[str]:
    return [note.saw for note in run.notes if note.id == "shell-left-out"]


@pytest.mark.parametrize(
    ("script", "name"),
    [
        ("conda activate sft\ntorchrun t.py\n", "sft"),
        (HOOK + "conda activate sft\ntorchrun t.py\n", "sft"),
        ("source ~/miniconda3/etc/profile.d/conda.sh\nconda activate\ntorchrun t.py\n", "base"),
        ("source activate sft\ntorchrun t.py\n", "sft"),
        ("NAME=sft\nmicromamba activate $NAME\ntorchrun t.py\n", "sft"),
        ("conda activate one\nconda activate two\ntorchrun t.py\n", "two"),
        ("conda activate one\nconda deactivate\ntorchrun t.py\n", None),
        ("conda run -n sft --no-capture-output torchrun t.py\n", "sft"),
        ("mamba run --name=sft python -m torch.distributed.run t.py\n", "sft"),
        ("source /opt/miniconda3/bin/activate sft\ntorchrun t.py\n", "sft"),
        (". /opt/anaconda/bin/activate\nconda activate ${ENV:-sft}\ntorchrun t.py\n", "sft"),
        ("conda activate one\nsudo -E conda run -n one python t.py\n", "one"),
    ],
)
def test_an_environment_of_conda_is_the_runs(script: str, name: str | None) -> None:
    run = read(script)
    assert (run.environment.conda, run.environment.python) == (name, None)
    assert run.train.command[0].endswith("t.py")
    assert not [saw for saw in left_out(run) if "conda" in saw or "activate" in saw]


@pytest.mark.parametrize(
    ("script", "python"),
    [
        ("conda activate /opt/envs/sft\ntorchrun t.py\n", "/opt/envs/sft/bin/python"),
        ("conda run -p /opt/envs/sft torchrun t.py\n", "/opt/envs/sft/bin/python"),
        ("source /opt/miniconda3/bin/activate\ntorchrun t.py\n", "/opt/miniconda3/bin/python"),
    ],
)
def test_one_that_is_named_by_its_folder_is_its_python(script: str, python: str) -> None:
    run = read(script)
    assert (run.environment.conda, run.environment.python) == (None, python)


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("conda activate sft\n/opt/py/bin/python t.py\n", "environment.python names the Python that trains."),
        (
            "conda activate sft\nray job submit -- python t.py\n",
            "ray starts the environment's Python by its path.",
        ),
        ("conda activate $NOBODY_KNOWS\ntorchrun t.py\n", "$NOBODY_KNOWS is not known here."),
        ("source /opt/conda/bin/activate $NOBODY_KNOWS\ntorchrun t.py\n", "$NOBODY_KNOWS is not known here."),
        (
            'if [ -n "$X" ]; then\nconda activate sft\nfi\ntorchrun t.py\n',
            "it is in an `if`, a loop or a function.",
        ),
    ],
)
def test_one_that_cannot_be_used_is_named_with_the_reason(script: str, why: str) -> None:
    run = read(script)
    assert run.environment.conda is None
    assert [note.why for note in run.notes if note.id == "shell-left-out" and "activate" in note.saw] == [why]


def test_the_run_files_own_python_stands() -> None:
    Path("train.sh").write_text("conda activate sft\ntorchrun t.py\n")
    keys = "name: x\nnodes: localhost\ngpus: 1\ntrain: {command: bash train.sh}\n"
    for own in ("environment: {python: /opt/bin/python}", "container: {image: 'a/b:c'}"):
        run = load_text(keys + own + "\n")
        assert run.environment.conda is None
        assert [
            "conda activate sft is left out." in note.saw for note in run.notes if "conda" in note.saw
        ] == [True]
    assert load_text(keys).environment.conda == "sft"
    with pytest.raises(BadInput):  # the two are not the same
        load_text(keys + "environment: {conda: other, python: /opt/bin/python}\n")


def test_sudo_is_left_out() -> None:
    run = read("sudo -E -u trainer HF_HOME=/hf torchrun --nproc_per_node 2 t.py --x 1\n")
    assert (run.gpus.count, run.train.command[1:], run.env["HF_HOME"]) == (2, ("--x", "1"), "/hf")
    assert left_out(run) == ["train.command: sudo is left out."]


@pytest.mark.parametrize(
    ("before", "words"),
    [
        (': "${GPUS:=4}" ${LR:=1e-5}\n', ("4", "1e-5")),
        ("GPUS=2\nLR=\n: ${GPUS:=4} ${LR:=1e-5}\n", ("2", "1e-5")),
        ("echo using ${GPUS:=4} GPUs\nexport LR=${LR:=1e-5}\n", ("4", "1e-5")),
        (": ${GPUS:=4} ${LR:=$GPUS}\n", ("4", "4")),
    ],
)
def test_a_default_is_kept(before: str, words: tuple[str, str]) -> None:
    run = read(before + "torchrun --nproc_per_node $GPUS t.py --lr $LR\n")
    assert (str(run.gpus.count), run.train.command[2]) == words


def test_a_default_that_may_not_be_set_is_not_known() -> None:
    with pytest.raises(BadInput, match=r"only a shell knows what the script sets \$LR to"):
        read('if [ -n "$X" ]; then\n: ${LR:=1e-5}\nfi\ntorchrun t.py --lr $LR\n')
