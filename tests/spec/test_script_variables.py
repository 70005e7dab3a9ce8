"""Variables that a script exports all at once, from a file such as `.env`, and the folders of its PATH."""

from __future__ import annotations

from pathlib import Path

import pytest

from allranks.spec import Run, Typed, load_typed

TORCHRUN = "torchrun --nproc_per_node 2 train.py"
PLAIN = "# paths\nA=1\nB='x y'\n\nexport C=3 D=4\nE=$A/e\n"
LINES = "# paths\nA=1\n\nB=b#c\nC='q'\n"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read(script: str, file: str | None = None) -> Run:
    Path("train.sh").write_text(f"{script}\n{TORCHRUN}\n")
    if file is not None:
        Path(".env").write_text(file)
    return load_typed(Typed(words=("bash", "train.sh")))


def left_out(run: Run) -> dict[str, tuple[str, str]]:
    found = [note for note in run.notes if note.id == "shell-left-out"]
    return {
        note.saw.removeprefix("train.command: ").removesuffix(" is left out."): (note.why, note.fix or "")
        for note in found
    }


@pytest.mark.parametrize(
    "on", ["set -a", "set -ea", "set -euo pipefail -a", "set -o allexport", "set -eo allexport"]
)
def test_all_assignments_export_while_set_a_is_on(on: str) -> None:
    run = read(f"Z=0\n{on}\nA=1\nB=$A/b\nset +a\nC=3\n")
    assert run.env == {"A": "1", "B": "1/b"} and not left_out(run)


@pytest.mark.parametrize("off", ["set +a", "set +o allexport", "set +ae"])
def test_set_a_ends(off: str) -> None:
    assert read(f"set -a\nA=1\n{off}\nB=2").env == {"A": "1"}


@pytest.mark.parametrize("other", ["set -e", "set -euo pipefail", "set -- -a", "set -x", "shopt -s nullglob"])
def test_other_options_export_nothing(other: str) -> None:
    assert read(f"{other}\nA=1").env == {}


def test_a_plain_file_that_is_sourced_under_set_a_gives_its_variables() -> None:
    run = read("source venv/bin/activate\nset -a; source .env; set +a\nF=6", PLAIN)
    assert run.env == {"A": "1", "B": "x y", "C": "3", "D": "4", "E": "1/e"} and not left_out(run)
    assert (run.environment.activate or "").endswith("venv/bin/activate")


@pytest.mark.parametrize(
    ("file", "why"),
    [
        (None, "it cannot be read here"),
        ("A=1\ncurl example.com\n", "it holds more than assignments"),
        ("A=1 B\n", "it holds more than assignments"),
        ("if true; then A=1; fi\n", "it holds more than assignments"),
        ("A='1\n", "it holds more than assignments"),
    ],
)
def test_a_file_whose_variables_are_not_known_is_named(file: str | None, why: str) -> None:
    run = read("set -a; source ./.env; set +a", file)
    ((what, (told, fix)),) = left_out(run).items()
    assert what == "set -a; source .env" and told.startswith(why) and fix.startswith("env: {NAME: its value}")
    assert run.env == {} and (run.environment.activate or "").endswith("/.env")


def test_a_file_that_is_sourced_without_set_a_is_sourced_on_the_nodes() -> None:
    run = read("source .env", PLAIN)
    assert run.env == {} and (run.environment.activate or "").endswith("/.env") and not left_out(run)


@pytest.mark.parametrize("how", ["set -a; source .env; set +a", "export $(cat .env | xargs)"])
def test_a_secret_of_a_file_is_named_and_not_shown(how: str) -> None:
    run = read(how, f"A=1\nDB_PASSWORD=hunter2\nHF_TOKEN=hf_{'aB3d' * 8}\nEMPTY_KEY=\n")
    assert run.env == {"A": "1", "EMPTY_KEY": ""}
    notes = left_out(run)
    assert (
        notes["DB_PASSWORD of .env"][1]
        == "export DB_PASSWORD where allranks runs, and secrets: [DB_PASSWORD]"
    )
    assert "HF_TOKEN of .env" in notes
    assert not any(secret in str(run.notes) for secret in ("hunter2", "aB3d"))


@pytest.mark.parametrize(
    ("command", "c"),
    [
        ("$(cat .env | xargs)", "q"),
        ("$(cat .env)", "'q'"),
        ("`cat .env | xargs`", "q"),
        ("$(grep -v '^#' .env | xargs)", "q"),
        ("$(grep -v '^#' .env | xargs -d '\\n')", "'q'"),
        ("$(cat .env | grep -v '^#' | xargs)", "q"),
        ("$(grep -vE '^\\s*#' ./.env | grep -v '^$' | xargs)", "q"),
    ],
)
def test_an_export_of_a_whole_file_is_followed(command: str, c: str) -> None:
    run = read(f"export {command}", LINES)
    assert run.env == {"A": "1", "B": "b#c", "C": c} and not left_out(run)


def test_the_file_is_in_the_folder_of_the_last_cd(here: Path) -> None:
    (here / "conf").mkdir()
    (here / "conf" / ".env").write_text("A=conf\n")
    for how in ("export $(cat .env | xargs)", "set -a; source .env; set +a"):
        run = read(f"cd conf\n{how}\ncd ..", "A=here\n")
        assert run.env == {"A": "conf"} and not left_out(run)


def test_the_words_of_a_value_are_split_as_the_shell_does() -> None:
    assert read("export $(cat .env | xargs)", "A='x y'\nB=2\n").env == {"A": "x", "B": "2"}


@pytest.mark.parametrize(
    "command",
    [
        "$(sed 's/ //' .env | xargs)",
        "$(grep A .env | xargs)",
        "$(cat .env | head -1)",
        "$(cat .env other | xargs)",
        '"$(cat .env)"',
        "$(xargs < .env)",
        "$(./variables.sh)",
        "$UNKNOWN",
    ],
)
def test_an_export_that_only_a_shell_knows_is_named(command: str) -> None:
    run = read(f"export {command}", LINES)
    why, fix = left_out(run)["export " + command.strip('"')]
    assert run.env == {} and "only a shell knows" in why and fix.startswith("env: {NAME: its value}")


def test_an_export_of_a_file_that_is_not_here_is_named() -> None:
    assert "export $(cat .env | xargs)" in left_out(read("export $(cat .env | xargs)"))
    inside = read("if [ -f .env ]; then export $(cat .env | xargs); fi", LINES)
    assert inside.env == {} and "it is in an `if`" in left_out(inside)["export $(cat .env | xargs)"][0]


@pytest.mark.parametrize(
    "word", ['"A=x y"', "'A=x y'", '"A=x $Y"', 'A="x y"', '"A"="x y"', "A='x 'y", '"A=x "$Y']
)
def test_quotes_around_an_assignment_change_nothing(word: str) -> None:
    run = read(f"Y=y\nexport {word}")
    assert run.env == {"A": "x y"} and not left_out(run)


def test_an_export_of_known_words_sets_them() -> None:
    assert read("A=1\nNAMES='A B=2'\nexport $NAMES").env == {"A": "1", "B": "2"}


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("export PATH=/usr/local/cuda-12.1/bin:$PATH", "PATH=/usr/local/cuda-12.1/bin:$PATH"),
        ("PATH=$PATH:$HOME/bin", "PATH=$PATH:~/bin"),
        ("PATH+=:/x/bin", "PATH=$PATH:/x/bin"),
        ("export PATH=$CUDA_HOME/bin:$PATH", "PATH=$CUDA_HOME/bin:$PATH"),
        ("export PATH=/a:$PATH\nexport PATH=/b:$PATH", "PATH=/b:/a:$PATH"),
    ],
)
def test_folders_that_a_script_puts_into_its_path_are_named(line: str, shown: str) -> None:
    run = read(line)
    ((what, (why, fix)),) = left_out(run).items()
    assert what == shown and why == "the ranks have the PATH of their environment."
    assert fix.startswith("environment: {activate: a script that sets it}") and "PATH" not in run.env


@pytest.mark.parametrize(
    "line", ["export PATH=$PATH", "export PATH", "export MASTER_ADDR=$(hostname) PATH=${PATH}"]
)
def test_a_path_without_folders_of_its_own_needs_no_note(line: str) -> None:
    assert not left_out(read(line))


@pytest.mark.parametrize(
    "line",
    [
        "DB_PASS=hunter2",
        "MYSQL_PWD=hunter2",
        "GH_PAT=hunter2",
        "REDIS_URL=redis://:hunter2@host:6379",
        "https_proxy=http://bob:hunter2@proxy:3128",
    ],
)
def test_a_password_of_a_file_is_neither_taken_nor_shown(line: str, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env").write_text(f"{line}\nNCCL_DEBUG=WARN\n")
    (tmp_path / "t.sh").write_text("set -a; source .env; set +a\ntorchrun --nproc_per_node=8 train.py\n")
    run = load_typed(Typed(words=("bash", "t.sh")))
    assert run.env == {"NCCL_DEBUG": "WARN"}
    assert not any("hunter2" in note.saw + note.why + note.fix for note in run.notes)
    assert any("secrets: [" in note.fix for note in run.notes)
