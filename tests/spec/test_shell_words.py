"""The words that bash makes of quotes, braces, defaults and lists. Each expected list is bash's own (5.2)."""

from __future__ import annotations

from pathlib import Path

import pytest

from allranks.core import BadInput
from allranks.spec import Run, Typed, load_typed

TORCHRUN = "torchrun --nproc_per_node 2 train.py"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read(script: str, *arguments: str) -> Run:
    Path("train.sh").write_text(script + "\n")
    return load_typed(Typed(words=("bash", "train.sh", *arguments)))


def words(script: str, *arguments: str) -> list[str]:
    return list(read(script, *arguments).train.command[1:])


def problem(script: str) -> str:
    with pytest.raises(BadInput) as caught:
        read(script)
    (found,) = caught.value.problems
    return f"{found.saw} {found.do}"


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ('${A:-"b c"}', ["b c"]),
        ("${A:-b c}", ["b", "c"]),
        ("x${A:-b 'c d'}y", ["xb", "c dy"]),
        ('${A:-""}', [""]),
        ("${A:-{a,b}}", ["{a,b}"]),
        ('"${A:-b c}"', ["b c"]),
        ('${X:+--name "$X"}', ["--name", "1 2"]),
        ("$X", ["1", "2"]),
    ],
)
def test_quotes_in_a_default_hold_words_together(written: str, expected: list[str]) -> None:
    assert words(f"X='1 2'\n{TORCHRUN} {written}") == expected


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ('"${E-f}"', [""]),
        ('"${E:-f}"', ["f"]),
        ('"${U-f}"', ["f"]),
        ('"${N-f}"', ["f"]),
        ("${E+x} ${E:+y} ${U+z}", ["x"]),
        ("${1-f} ${2-g}", ["one", "g"]),
    ],
)
def test_without_a_colon_only_a_missing_value_counts_as_none(written: str, expected: list[str]) -> None:
    assert words(f"E=\nN=1\nunset N\n{TORCHRUN} {written}", "one") == expected


def test_a_variable_that_is_not_set_is_appended_to() -> None:
    assert words(f"A=1\nunset A\nA+=2\n{TORCHRUN} $A") == ["2"]
    assert words(f': "${{A=1}}" "${{E=2}}"\n{TORCHRUN} $A $E') == ["1", "2"]
    assert words(f'E=\n: "${{E=2}}"\n{TORCHRUN} x$E') == ["x"]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (r"$'a\tb\nc'", ["a\tb\nc"]),
        (r"$'it\'s' x", ["it's", "x"]),
        (r"$'\\ \" \? \e\a\b\f\v\r'", ['\\ " ? \x1b\a\b\f\v\r']),
        (r"$'\x41\101\u00e9\U0001f600\xc3\xa9'", ["AAé\U0001f600é"]),
        (r"$'\q\x' $'a\0b' $'\cA'", [r"\q\x", "a", "\x01"]),
        (r'''"$'a\tb'"''', [r"$'a\tb'"]),
    ],
)
def test_escapes_in_dollar_quotes_are_decoded(written: str, expected: list[str]) -> None:
    assert words(f"{TORCHRUN} {written}") == expected
    assert words(f'LIST=({written})\n{TORCHRUN} "${{LIST[@]}}"') == expected


def test_a_dollar_quote_that_never_closes_is_an_error() -> None:
    assert "a quote or a bracket that opens in line 2 is never closed" in problem(f"A=1\n{TORCHRUN} $'it\\'s")


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("{a,b}", ["a", "b"]),
        ("x{01..03}y", ["x01y", "x02y", "x03y"]),
        ("{3..1} {1..7..3} {-1..1}", ["3", "2", "1", "1", "4", "7", "-1", "0", "1"]),
        ("{a..c}", ["a", "b", "c"]),
        ("{a,{b,c}d}{1,2}", ["a1", "a2", "bd1", "bd2", "cd1", "cd2"]),
        ("d/{$X,'p q'}.json", ["d/1.json", "d/p q.json"]),
        ("{a{b,c}}", ["{ab}", "{ac}"]),
        (
            "'{a,b}' \"{a,b}\" \\{a,b} {a} {} {a,b x,}",
            ["{a,b}", "{a,b}", "{a,b}", "{a}", "{}", "{a,b", "x,}"],
        ),
    ],
)
def test_braces_are_expanded(written: str, expected: list[str]) -> None:
    assert words(f"X=1\n{TORCHRUN} {written}") == expected


def test_braces_of_an_assignment_are_text() -> None:
    assert words(f"A={{a,b}}\nL=({{a,b}})\n{TORCHRUN} $A ${{L[@]}}") == ["{a,b}", "a", "b"]


@pytest.mark.parametrize("braces", ["{1..1000000}", "{1..200}{1..200}"])
def test_braces_that_make_too_many_words_are_refused(braces: str) -> None:
    assert "makes more than 10,000 words" in problem(f"{TORCHRUN} {braces}")


@pytest.mark.parametrize("written", ["*.txt", "data_[0-9].json", "a?", "$FILES", '"${LIST[@]}"', "d/{a*,b}"])
def test_a_word_that_matches_files_is_refused(written: str) -> None:
    said = problem(f"FILES='d/*.json'\nLIST=(d/*.json)\n{TORCHRUN} {written}")
    assert "only a shell knows which files it matches" in said and "quotes around it" in said


def test_a_pattern_among_llamafactorys_arguments_is_refused() -> None:
    assert "only a shell knows which files" in problem("llamafactory-cli train --stage sft --dataset_dir d*")


@pytest.mark.parametrize(
    "written",
    ["'*.txt'", '"a?"', "\\*", "[0.9,0.95]", "layers=[0-9]", "--x=*", "http://h/x?y=1", '"$FILES"', "[a]"],
)
def test_a_word_that_is_meant_as_text_is_passed(written: str) -> None:
    (word,) = words(f"FILES='d/*.json'\n{TORCHRUN} {written}")
    assert word == written.strip("'\"\\").replace("$FILES", "d/*.json")


def test_a_pattern_of_a_launcher_is_no_file() -> None:
    run = read(f"srun -w node[1-2] {TORCHRUN}")
    assert [node.name for node in run.cluster.nodes] == ["node1", "node2"]


def test_words_are_expanded_before_the_variables_in_front_of_the_command() -> None:
    run = read(f"A=1\nA=2 B=$A {TORCHRUN} $A")
    assert run.train.command[1:] == ("1",) and run.env == {"A": "2", "B": "2"}


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("IFS=,\nA=a,b", ["a", "b"]),
        ("IFS=,\nA='a b'", ["a b"]),
        ("IFS=$'\\n\\t'\nA='a b'", ["a b"]),
        ("IFS=', '\nA='a , b,,c,'", ["a", "b", "", "c"]),
        ("IFS=\nA='a b'", ["a b"]),
        ("OLD=$IFS\nIFS=,\nIFS=$OLD\nA='a b,c'", ["a", "b,c"]),
        ("IFS=,\nunset IFS\nA='a b,c'", ["a", "b,c"]),
        ("IFS=, read -r X <<< 1,2\nA='a b,c'", ["a", "b,c"]),
        ("IFS=,\nL=(a b)\nA=\"${L[*]}\"\nIFS=' '", ["a,b"]),
    ],
)
def test_values_are_split_by_the_scripts_ifs(script: str, expected: list[str]) -> None:
    assert words(f"{script}\n{TORCHRUN} $A") == expected


def test_a_value_is_unknown_if_the_ifs_is() -> None:
    assert "$IFS" in problem(f'IFS=$(cat x)\nA="a b"\n{TORCHRUN} $A')
    assert words(f'IFS=$(cat x)\nA="a b"\n{TORCHRUN} "$A"') == ["a b"]


def test_the_words_of_a_list_with_a_star_are_one() -> None:
    assert words(f'L=(a "b c")\n{TORCHRUN} "${{L[*]}}" "$*"', "x", "y") == ["a b c", "x y"]


@pytest.mark.parametrize(("value", "expected"), [("2+3", "5"), ("8", "8"), ("4*K", "8")])
def test_a_variable_that_is_declared_a_number_is_computed(value: str, expected: str) -> None:
    assert words(f"K=2\ndeclare -i N={value}\n{TORCHRUN} $N") == [expected]
    assert words(f"K=2\ntypeset -ri N={value}\n{TORCHRUN} $N") == [expected]
    assert words(f"K=2\ndeclare -i N\nN={value}\n{TORCHRUN} $N") == [expected]


def test_a_number_that_cannot_be_computed_is_unknown() -> None:
    assert "only a shell knows what the script sets $N to" in problem(f"declare -i N=2**K\n{TORCHRUN} $N")
    assert words(f"declare -i N=1\nN+=2\n{TORCHRUN} $N") == ["3"]
