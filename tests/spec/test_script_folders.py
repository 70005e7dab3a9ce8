"""A script's folders and files: `cd` before the command counts for all that the command names, `~` is nobody's home on
the nodes, and a file that the script writes is not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from allranks.core import BadInput
from allranks.spec import Run, Typed, load_typed

YAML = "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nnum_processes: {ranks}\n"
SFT = "model_name_or_path: m\nstage: sft\ndataset: d\nfinetuning_type: lora\nlora_target: all\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for folder, ranks in (("", 8), ("sub/", 4)):
        (tmp_path / folder / "cfg").mkdir(parents=True)
        (tmp_path / folder / "cfg" / "acc.yaml").write_text(YAML.format(ranks=ranks))
    (tmp_path / "sub" / "hosts").write_text("a slots=2\nb slots=2\n")
    (tmp_path / "sub" / "sft.yaml").write_text(SFT)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read(script: str) -> Run:
    Path("train.sh").write_text(script)
    return load_typed(Typed(words=("bash", "train.sh")))


def left_out(run: Run) -> list[str]:
    return [note.saw for note in run.notes if note.id == "shell-left-out"]


def problem(script: str) -> str:
    with pytest.raises(BadInput) as caught:
        read(script)
    (found,) = caught.value.problems
    return found.saw


def test_files_that_the_command_names_are_in_the_folder_that_it_changed_to(here: Path) -> None:
    run = read("cd sub\naccelerate launch --config_file cfg/acc.yaml train.py\n")
    assert (run.gpus.count, run.train.workdir) == (4, str(here / "sub"))
    run = read("cd sub\ndeepspeed --hostfile=hosts train.py\n")
    assert [node.name for node in run.cluster.nodes] == ["a", "b"]
    run = read("cd sub\nllamafactory-cli train sft.yaml\n")
    assert (run.train.kind, run.train.source) == ("llamafactory", "sub/sft.yaml")
    missing = problem("cd sub/cfg\naccelerate launch --config_file cfg/acc.yaml train.py\n")
    assert missing == "train.command: sub/cfg/cfg/acc.yaml: file not found."


def test_what_is_sourced_is_in_that_folder_too(here: Path) -> None:
    run = read("cd sub\nsource venv/bin/activate\ntorchrun train.py\n")
    assert run.environment.activate == str(here / "sub/venv/bin/activate")
    run = read("source venv/bin/activate\ncd sub\ntorchrun train.py\n")
    assert run.environment.activate == str(here / "venv/bin/activate")


def test_a_home_is_kept_where_allranks_finds_it_and_refused_where_it_cannot(here: Path) -> None:
    run = read("P=~/proj\ncd $P\nsource ~/venv/bin/activate\ntorchrun train.py --note '~/x' \"~/y\" a~\n")
    assert (run.train.workdir, run.train.command[0]) == ("~/proj", "~/proj/train.py")
    assert run.environment.activate == "~/venv/bin/activate"
    assert run.train.command[1:] == ("--note", "~/x", "~/y", "a~")
    for script in (
        "torchrun train.py --out ~/out\n",
        "OUT=~/out\ntorchrun train.py --out $OUT/a\n",
        "OUT=~/out\ntorchrun train.py --out=$OUT/a\n",
        "llamafactory-cli train --stage sft --output_dir ~/out\n",
    ):
        assert "which home ~ (or $HOME) is, only a shell knows" in problem(script)
    run = read("export DATA=~/data\ntorchrun train.py\n")
    assert "DATA" not in run.env and any("DATA=~/data" in saw for saw in left_out(run))


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("export PYTHONPATH=src:$PYTHONPATH", "src:."),
        ("export PYTHONPATH=$PYTHONPATH:a:b", ".:a:b"),
        ("export PYTHONPATH=$PYTHONPATH:$(pwd)/a", ".:a"),
        ("export PYTHONPATH=$PYTHONPATH", ""),
        ('export PYTHONPATH="$(dirname $0)/../":$PYTHONPATH', "..:."),
        ("cd sub\nexport PYTHONPATH=$(pwd)/..:$(pwd)/b", "..:b"),
        ("export PYTHONPATH=a\nexport PYTHONPATH=b:$PYTHONPATH", "b:a"),
        ("export PYTHONPATH=a\nPYTHONPATH+=:b", "a:b"),
    ],
)
def test_a_search_path_that_the_script_sets_reaches_the_ranks(here: Path, line: str, value: str) -> None:
    assert read(f"{line}\ntorchrun train.py\n").env["PYTHONPATH"] == value


def test_a_file_that_the_script_writes_is_named(here: Path) -> None:
    run = read(
        "cat > ds.json <<EOF\n{}\nEOF\necho x >> log 2>&1\necho y > /dev/null\necho z >&2\ntorchrun train.py\n"
    )
    assert [saw for saw in left_out(run) if ">" in saw] == [
        "train.command: cat > ds.json is left out.",
        "train.command: echo > log is left out.",
    ]


@pytest.mark.parametrize("comment", ["# :)", "# don't", '# "', r"\#"])
def test_a_comment_in_an_array_ends_with_its_line(here: Path, comment: str) -> None:
    run = read(f'A=(\n  --lr 1e-5 {comment}\n  --bs 4\n)\ntorchrun train.py "${{A[@]}}"\n')
    kept = ("#",) if comment == r"\#" else ()
    assert run.train.command[1:] == ("--lr", "1e-5", *kept, "--bs", "4")


@pytest.mark.parametrize(
    "limit", ["timeout 2h", "timeout -k 10 -s TERM 2h", "timeout --kill-after=10 --foreground 2h"]
)
def test_a_time_limit_is_left_out_and_what_it_limits_is_the_command(here: Path, limit: str) -> None:
    run = read(f"timeout 5 nc -z node 22\n{limit} torchrun --nproc_per_node 2 train.py --x 1\n")
    assert (run.gpus.count, run.train.command[1:]) == (2, ("--x", "1"))
    assert any("timeout 2h is left out" in saw for saw in left_out(run))
    run = read(f"timeout 5 nc -z node 22\n{limit} python train.py\n")
    assert run.train.command[0].endswith("train.py")


OWN = 'DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)\n'


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("ROOT=$(pwd)\ncd sub\ntorchrun t.py --data $ROOT/data --x=$ROOT/y\n", ("../data", "--x=../y")),
        ("cd sub\ntorchrun t.py --data $PWD/data --x=$PWD/y\n", ("data", "--x=../sub/y")),
        ("cd sub\nROOT=`pwd`\ntorchrun t.py --data $ROOT/data --x=$ROOT/y\n", ("data", "--x=../sub/y")),
        ("ROOT=$(pwd)\ntorchrun t.py --data $ROOT/data --x=$ROOT/y\n", ("data", "--x=./y")),
        (OWN + "cd $DIR\ntorchrun t.py --data $DIR/data --x=$DIR/../y\n", ("data", "--x=../scripts/../y")),
        (OWN + "cd $DIR/..\ntorchrun t.py --data $DIR/data --x=${DIR%/*}/y\n", ("scripts/data", "--x=./y")),
        (OWN + "cd sub/cfg\ntorchrun t.py --data $DIR/data\n", ("../../scripts/data",)),
        ("cd sub\nA=$(pwd)\ncd ..\ntorchrun t.py --data $A/data\n", ("sub/data",)),
        ("cd sub\nA=$(pwd)\ncd /x\nB=$(pwd)\ntorchrun t.py --data $B/data\n", ("/x/data",)),
    ],
)
def test_what_pwd_gave_keeps_its_meaning_after_a_change_of_folder(
    here: Path, script: str, words: tuple[str, ...]
) -> None:
    (here / "scripts").mkdir()
    (here / "scripts" / "train.sh").write_text(script)
    run = load_typed(Typed(words=("bash", "scripts/train.sh")))
    assert tuple(word for word in run.train.command[1:] if word != "--data") == words


def test_the_script_beside_is_found_and_a_folder_that_is_not_known_is_refused(here: Path) -> None:
    (here / "scripts").mkdir()
    script = OWN + "export LOGS=$DIR/logs\ncd $DIR\ntorchrun $DIR/t.py\n"
    (here / "scripts" / "train.sh").write_text(script)
    run = load_typed(Typed(words=("bash", "scripts/train.sh")))
    assert run.train.command == (str(here / "scripts/t.py"),) and run.train.workdir == str(here / "scripts")
    assert run.env["LOGS"] == "logs"
    run = read("export LOGS=$(pwd)/logs\ncd /elsewhere\ntorchrun t.py\n")
    assert "LOGS" not in run.env and any("LOGS is left out" in saw for saw in left_out(run))
    assert "$(pwd)" in problem("ROOT=$(pwd)\ncd /elsewhere\ntorchrun t.py --data $ROOT/data\n")
