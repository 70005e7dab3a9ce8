"""Functions of a script, scripts that it sources, and defaults that its `if`s give."""

from __future__ import annotations

from pathlib import Path

import pytest

from allranks.core import BadInput
from allranks.spec import Run, Typed, load_typed

TORCHRUN = "torchrun --nproc_per_node 8 train.py"
IN_DOUBT = "is in an `if`, a loop or a function."


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read(script: str, *arguments: str, program: str = "bash") -> Run:
    Path("train.sh").write_text(script + "\n")
    return load_typed(Typed(words=(program, "train.sh", *arguments)), gpus_here=lambda: 8)


def words(script: str, *arguments: str) -> tuple[str, ...]:
    return read(script, *arguments).train.command[1:]


def problems(script: str, *arguments: str) -> list[str]:
    with pytest.raises(BadInput) as caught:
        read(script, *arguments)
    return [one.saw.removeprefix("train.command: ") for one in caught.value.problems]


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        (f'main() {{\n{TORCHRUN} --x "$1" "${{@:2}}"\n}}\nmain 7 8', ("--x", "7", "8")),
        (f'function main {{\n{TORCHRUN} "$@" $2\n}}\nmain 7', ("7",)),
        (f"function main()\n{{\n{TORCHRUN} $#\n}}\nmain a b 2>&1 | tee log", ("2",)),
        (f"main() # trains\n{{ {TORCHRUN} --x; }}\nmain", ("--x",)),
        (f"set_it() {{ A=$1; }}\nset_it 3\n{TORCHRUN} $A", ("3",)),
        (f"A=1\nset_it() {{ local A=$1; B=$A; }}\nset_it 3\n{TORCHRUN} $A $B", ("1", "3")),
        (f"one() {{ two $1 b; }}\ntwo() {{ {TORCHRUN} $1 $2; }}\none a", ("a", "b")),
        (f"never() {{ A=2; exit 1; }}\nA=1\n{TORCHRUN} $A", ("1",)),
        (f"if_so() {{ if [ $1 = y ]; then A=1; else A=2; fi; }}\nif_so n\n{TORCHRUN} $A", ("2",)),
        (f"again() {{ again; {TORCHRUN}; }}\nagain", ()),
    ],
)
def test_a_function_counts_where_it_is_called(script: str, expected: tuple[str, ...]) -> None:
    assert words(script) == expected


def test_a_functions_arguments_are_its_own() -> None:
    script = f"first() {{ A=$1; }}\nfirst x\n{TORCHRUN} $A $1"
    assert words(script, "y") == ("x", "y")
    assert words(f'main() {{ {TORCHRUN} --d "$1"; }}\nmain "$@"', "y") == ("--d", "y")
    (asked,) = problems(f'main() {{ {TORCHRUN} --d "$1"; }}\nmain "$@"')
    assert asked == "$1: $1 is an argument of the script, and it is not given."


def test_a_function_in_a_folder_of_its_own() -> None:
    run = read(f"main() (\ncd sub\n{TORCHRUN}\n)\nmain")
    assert run.train.command[0].endswith("/sub/train.py")


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (f"main() {{ {TORCHRUN}; }}\n", f"train.sh: line 1: torchrun {IN_DOUBT}"),
        (
            f"main() {{ {TORCHRUN} $1; }}\nfor i in 1 2; do main $i; done",
            f"train.sh: line 1: torchrun {IN_DOUBT}",
        ),
        (
            f"if [ -f a ]; then\nmain() {{ {TORCHRUN}; }}\nfi\nmain",
            f"train.sh: line 2: torchrun {IN_DOUBT}",
        ),
        (
            f"main() {{ {TORCHRUN} $1; }}\nmain 1\nmain 2",
            "train.sh: 2 commands that train (line 1: torchrun and line 1: torchrun).",
        ),
        (
            f'if [ "$M" = full ]; then\n{TORCHRUN}\nelse\n{TORCHRUN} --lora\nfi',
            "train.sh: 2 commands that train (line 2: torchrun and line 4: torchrun) are "
            "in an `if`, a loop or a function.",
        ),
        (
            f"maybe() {{ A=1; }}\n[ -f x ] && maybe\n{TORCHRUN} $A",
            "$A: only a shell knows what the script sets $A to.",
        ),
    ],
)
def test_a_function_that_may_not_run_decides_nothing(script: str, said: str) -> None:
    assert problems(script) == [said]


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        (f"source env.sh\n{TORCHRUN} $DATA $N", ("/data", "4")),
        (f". ./env.sh\nN=2\n{TORCHRUN} $N", ("2",)),
        ('source "$(dirname "$0")/env.sh"\nstart --lr 1', ("4", "--lr", "1")),
        (f"cd sub\nsource more.sh\n{TORCHRUN} $MORE", ("yes",)),
        (f"source above.sh\n{TORCHRUN} $N", ("4",)),
        (f"source missing.sh\n{TORCHRUN} --x", ("--x",)),
        (f"source trains.sh\n{TORCHRUN} --x", ("--x",)),
        (f"source itself.sh\n{TORCHRUN} $I", ("1",)),
    ],
)
def test_what_a_sourced_script_sets_is_known(script: str, expected: tuple[str, ...]) -> None:
    files = {
        "env.sh": 'export DATA=/data\nN=4\nmkdir x\nstart() { torchrun train.py $N "$@"; }\n[ -f x ] && M=1\n',
        "sub/more.sh": "MORE=yes\n",
        "above.sh": "source env.sh\n",
        "trains.sh": f"N=1\n{TORCHRUN}\n",
        "itself.sh": "source itself.sh\nI=1\n",
    }
    for name, text in files.items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(text)
    run = read(script)
    assert run.train.command[1:] == expected
    assert not [note for note in run.notes if "mkdir" in note.saw]  # the ranks source it: nothing is left out


def test_a_sourced_value_that_only_a_shell_knows_is_refused() -> None:
    Path("env.sh").write_text("[ -f x ] && M=1\nD=$(date)\n")
    assert problems(f"source env.sh\n{TORCHRUN} $M $D") == [
        "$M: only a shell knows what the script sets $M to.",
        "$(date): only a shell knows the value of $(date).",
    ]


@pytest.mark.parametrize(
    "default",
    [
        'if [ -z "$X" ]; then X=4; fi',
        'if [[ -z "${X}" ]]; then\n  export X=4\nfi',
        'if [ ! -n "$X" ]; then X=4; fi',
        'if ! [ -n "$X" ]; then X=4; fi',
        'if [ -n "$X" ]; then echo "$X"; else X=4; fi',
        'if [ "$X" == "" ]; then X=4; fi',
        'if [ "$X" != "" ]; then :; else X=4; fi',
        '[ -z "$X" ] && X=4',
        '[ -n "$X" ] || X=4',
        "[[ -z $X ]] && export X=4",
    ],
)
def test_a_default_for_a_variable_without_a_value(default: str) -> None:
    assert words(f"{default}\n{TORCHRUN} $X") == ("4",)
    assert words(f"X=2\n{default}\n{TORCHRUN} $X") == ("2",)


@pytest.mark.parametrize(
    "doubt",
    [
        'if [ -z "$Y" ]; then X=4; fi',
        'if [ -n "$X" ]; then X=4; fi',
        'if [ -z "$X" ] && [ -f a ]; then X=4; fi',
        'if [ -z "$X" ]; then if [ -f a ]; then X=4; fi; fi',
        '[ -n "$X" ] && X=4',
        '[ -z "$X" ] || X=4',
        '[ -f a ] && [ -z "$X" ] && X=4',
        'if [ -f a ]; then X=1; fi\nif [ -z "$X" ]; then X=4; fi',
        'if [ -z "$X$Y" ]; then X=4; fi',
        'if [ -z "$Y" ]; then Y=1; elif [ -z "$X" ]; then X=4; fi',
    ],
)
def test_another_condition_gives_no_default(doubt: str) -> None:
    assert problems(f"{doubt}\n{TORCHRUN} $X") == ["$X: only a shell knows what the script sets $X to."]


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ('S="$(cd "$(dirname "$0")" && pwd)"\nR="$(cd "$S/.." && pwd)"\n{} $R/x', ("../x",)),
        ("R=$(realpath $(dirname $0)/..)\n{} $R", ("..",)),
        ('R=$(cd "$(dirname "$0")" > /dev/null 2>&1; pwd -P)\n{} $R/x', ("x",)),
        ("cd /a/b\nR=$(cd .. && pwd)\n{} $R", ("/a",)),
        ("M=/models/Qwen-7B/\n{} $(basename $M)-sft $(dirname $M)", ("Qwen-7B-sft", "/models")),
        ("{} `basename a/b.sh .sh` $(basename b .sh) $(dirname -- a)", ("b", "b", ".")),
        ('M=a/b/c\n{} $(basename $(dirname "$M")) $(echo $M) $(dirname /a)', ("b", "a/b/c", "/")),
    ],
)
def test_paths_that_are_taken_apart(script: str, expected: tuple[str, ...]) -> None:
    assert words(script.format(TORCHRUN)) == expected


@pytest.mark.parametrize(
    "value",
    [
        "$(basename $(realpath latest))",  # a link has another name
        "$(basename *.json)",
        "$(basename -a b c)",
        "$(echo $NOBODY)",
        "$(echo a | cut -c1)",
        "$(echo a > file)",
        "$(cd a || pwd)",
        "$(cd a; ls)",
        "$(dirname a b)",
        "$(awk '{print \"')",
        "$(if true; then echo a; fi)",
    ],
)
def test_other_commands_stay_unknown(value: str) -> None:
    (said,) = problems(f"{TORCHRUN} {value}")
    assert "only a shell knows the value of" in said


def test_all_missing_variables_are_named_at_once() -> None:
    assert problems(f"{TORCHRUN} --a $A --b $B/$C --again $A --d $1") == [
        "$A: $A is not set.",
        "$B/$C: $B is not set.",
        "$B/$C: $C is not set.",
        "$1: $1 is an argument of the script, and it is not given.",
    ]
    assert len(problems("llamafactory-cli train --stage $S --lr $L")) == 2


def test_options_of_a_job_that_slurm_does_not_get_are_named() -> None:
    options = ("--nodes 2", "--output=%j.out", "-e err", "--mail-type=END", "-W")
    head = "".join(["#!/bin/bash\n", *(f"#SBATCH {one}\n" for one in options)])
    run = read(head + TORCHRUN, program="sbatch")
    (note,) = [note for note in run.notes if "#SBATCH" in note.saw and note.id == "shell-left-out"]
    assert note.saw == "train.command: #SBATCH --mail-type=END; -W is left out."


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        (f"for n in 5; do for w in 0.06; do {TORCHRUN} $n $w; done; done", ("5", "0.06")),
        (f"A=7\nfor n in $A\ndo\n{TORCHRUN} $n\ndone", ("7",)),
        (f"for n in 5; do A=$n; done\n{TORCHRUN} $A", ("5",)),
    ],
)
def test_a_loop_over_one_word_runs_once(script: str, expected: tuple[str, ...]) -> None:
    assert words(script) == expected


@pytest.mark.parametrize("items", ["1 2", "$(seq 3)", "*.yaml", "$NOBODY", '"$@"', ""])
def test_any_other_loop_is_refused(items: str) -> None:
    assert problems(f"for n in {items}; do {TORCHRUN} $n; done") == [f"train.sh: line 1: torchrun {IN_DOUBT}"]


def test_the_tenth_argument_and_those_behind_a_shift() -> None:
    ten = [str(number) for number in range(101, 111)]
    assert words(f"A=${{10}}\n{TORCHRUN} $A ${{10#1}} $1", *ten) == ("110", "10", "101")
    assert problems(f"D=${{1:?usage}}\n{TORCHRUN} $D") == [
        "$1: $1 is an argument of the script, and it is not given."
    ]
    assert problems(f"{TORCHRUN} ${{10}}") == ["$10: $10 is an argument of the script, and it is not given."]
    shifting = f"A=$1\nshift\nB=$1; shift\n{TORCHRUN} $A $B $1"
    assert words(shifting, "a", "b", "c") == ("a", "b", "c")
    assert [said.split(":")[0] for said in problems(shifting)] == ["$1", "$2", "$3"]
    assert [said.split(":")[0] for said in problems(shifting, "a")] == ["$2", "$3"]


def test_placeholders_are_no_redirections() -> None:
    (said,) = problems(f"{TORCHRUN} \\\n --output_dir <OUTPUT_DIR> \\\n --lr 1")
    assert said == "train.sh: line 1: <OUTPUT_DIR> is a placeholder."
    (said,) = problems(f"{TORCHRUN} --model \u2039MODEL> \\\n --lr 1")
    assert said == "train.sh: line 1: >--lr has no value before it, only a `>`."
    assert words(f"{TORCHRUN} --lr 1 < /dev/null > log 2>&1") == ("--lr", "1")


def test_a_line_that_is_not_continued_is_refused() -> None:
    (said,) = problems(f"{TORCHRUN} \\  # two blanks\n --lr 1\n --epochs 3")
    assert said == "train.sh: line 2: --lr begins a command."


def test_a_server_beside_the_training_is_no_training() -> None:
    server = "CUDA_VISIBLE_DEVICES=0 python -m vllm.entrypoints.openai.api_server --model m &"
    run = read(f"{server}\nsrun trl vllm-serve --model m &\n{TORCHRUN} --x")
    assert run.train.command[1:] == ("--x",)
    assert sum("vllm" in note.saw for note in run.notes) == 2


def test_a_script_that_starts_its_own_ranks_is_refused() -> None:
    assert problems("python ./deepy.py train.py conf.yml") == [
        "deepy.py starts the ranks itself, by DeepSpeed's launcher."
    ]


def test_a_container_is_named_as_what_may_train() -> None:
    (said,) = problems('docker run --gpus all $IMAGE bash -c "$COMMAND"')
    assert said.startswith("train.sh: line 1: docker in docker run --gpus all")


def test_commands_are_done_by_hand_before_or_after_the_run() -> None:
    run = read(f"mkdir out\n{TORCHRUN}\ngsutil cp out gs://x")
    fixes = {note.saw.split()[1]: note.fix for note in run.notes if note.id == "shell-left-out"}
    assert fixes == {"mkdir": "do it by hand before the run", "gsutil": "do it by hand after the run"}


def test_all_tasks_and_those_of_a_node_give_the_nodes() -> None:
    run = read("srun --gres=gpu:8 --ntasks=32 --ntasks-per-node=8 python train.py", program="bash")
    assert len(run.cluster.nodes) == 4 and {node.gpus for node in run.cluster.nodes} == {8}
    assert not [note for note in run.notes if note.id == "launcher-contradicts"]


def test_a_script_that_reads_slurms_ranks_is_warned_of() -> None:
    for said in ("--launcher slurm", "--launcher=slurm"):
        found = read(f"srun -N 2 --gres=gpu:8 --ntasks-per-node=8 python train.py {said}").notes
        assert [note.fix for note in found if "SLURM_PROCID" in note.saw] == ["--launcher pytorch"]
    assert not [note for note in read(f"{TORCHRUN} --launcher pytorch").notes if "SLURM_PROCID" in note.saw]


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        (f"f() ( cd csrc; A=2 )\nA=1\nf\n{TORCHRUN} $A", ("1",)),
        (f"f() {{ A=2; }}\nA=1\nf | cat\n{TORCHRUN} $A", ("1",)),
        (f"f() {{ if [ $1 = x ]; then A=1; return; fi; A=2; }}\nf x\n{TORCHRUN} $A", ("1",)),
        (f"f() {{ [ -f a ] || return 1; A=2; }}\nf\n{TORCHRUN} $A", ("2",)),
        (f"f() {{ cd a || return; A=2; }}\nf\ncd ..\n{TORCHRUN} $A", ("2",)),
        (f"mkdir a || exit 1\nif [ -f a ]; then exit; fi\n{TORCHRUN} --x", ("--x",)),
        (f"{TORCHRUN} --x\nexit $?", ("--x",)),
        (f"f() {{ A=1; }}\nf\nf() {{ A=2; }}\n{TORCHRUN} $A", ("1",)),
        (f"f() {{ A=$B; }}\nB=2 f\n{TORCHRUN} $A ${{B:-none}}", ("2", "none")),
        (f"f() {{ local A; B=x$A; }}\nA=1\nf\n{TORCHRUN} $A $B", ("1", "x")),
        (f"f() {{ declare -g A=2; }}\nA=1\nf\n{TORCHRUN} $A", ("2",)),
        (f"f() {{ a=$1; shift; b=x$1; }}\nf 1\n{TORCHRUN} $a $b", ("1", "x")),
        ('torchrun() { command torchrun "$@"; }\ntorchrun train.py --x', ("--x",)),
        (f'main() {{ local d=${{1:?a folder}}; {TORCHRUN} "$d"; }}\nmain x', ("x",)),
        ("A=1 command torchrun train.py --x", ("--x",)),
        (f"A=1\nif [ -f no ]; then for B in 5; do :; done; fi\n{TORCHRUN} $A", ("1",)),
        (f"A=foo\n{TORCHRUN} x${{A%foo}}", ("x",)),
        (f'for a in "$@"; do\ncase $a in\n--debug)\n B=1;;\nesac\ndone\n{TORCHRUN} --lr 1', ("--lr", "1")),
        (f"{TORCHRUN} --lr 1\ncase $A in\n--debug) echo;;\nesac", ("--lr", "1")),
        (f"{TORCHRUN} --lr 1 < answers > log", ("--lr", "1")),
        (f"{TORCHRUN} --lr 1 <answers >log", ("--lr", "1")),
        (f"{TORCHRUN} --lr 1 <answers 2>log", ("--lr", "1")),
        (f"{{ {TORCHRUN} --lr 1; }} 2>&1 | tee log", ("--lr", "1")),
        (f"A=1\nf() {{ declare -gx A=2; }}\nf\n{TORCHRUN} $A", ("2",)),
        (f"f() {{ mkdir o || return 1; A=2; }}\nf\n{TORCHRUN} $A", ("2",)),
    ],
)
def test_it_is_followed_as_bash_runs_it(script: str, expected: tuple[str, ...]) -> None:
    run = read(script)
    assert run.train.command[1:] == expected
    assert run.train.command[0] == str(Path.cwd() / "train.py")


def test_what_a_function_exports_for_itself_is_gone_after_it() -> None:
    assert read(f"export A=0\nf() {{ local A=5; }}\nf\n{TORCHRUN}").env["A"] == "0"
    assert "B" not in read(f"f() {{ echo; }}\nB=1 f\n{TORCHRUN}").env


@pytest.mark.parametrize(
    ("script", "unknown"),
    [
        (f"f() {{ [ -f a ] && return; A=2; }}\nf\n{TORCHRUN} $A", "$A"),
        (f"for i in a; do if [ -f b ]; then break; fi; A=2; done\n{TORCHRUN} $A", "$A"),
        (f"f() {{ mkdir o && return 0; A=2; }}\nA=1\nf\n{TORCHRUN} $A", "$A"),
        (f"if [ -f a ]; then\nf() {{ A=2; }}\nfi\n{TORCHRUN} $A", "$A"),
        (f"for i in a; do break; A=2; done\n{TORCHRUN} $A", "$A"),
        (f"A=1\nif [ -f no ]; then for A in 5; do :; done; fi\n{TORCHRUN} $A", "$A"),
        (f"{TORCHRUN} $(echo -ne abc)", "$(echo -ne abc)"),
        (f"{TORCHRUN} file://$(pwd)/x", "file://$(pwd)/x"),
    ],
)
def test_what_only_a_shell_knows_is_refused(script: str, unknown: str) -> None:
    (said,) = problems(script)
    assert said.startswith(f"{unknown}: only a shell knows")


def test_a_loop_over_nothing_does_not_train() -> None:
    assert problems(f"for c in $1; do\n{TORCHRUN} --config $c\ndone") == [
        f"train.sh: line 2: torchrun {IN_DOUBT}"
    ]


def test_an_exit_before_the_training_is_named() -> None:
    assert problems(f"f() {{ exit; }}\nf\n{TORCHRUN}") == ["train.sh: line 1: exit ends the script."]
    usage = f"if [ $# -lt 2 ]; then\n  echo usage\n  exit 1\nfi\n{TORCHRUN}"
    assert problems(usage) == ["line 3: exit ends the script."]
    assert problems(f"{usage} $1 $2")[1].startswith("$2: $2 is an argument of the script")
    assert words(usage, "a", "b") == ()
    for wrong in ("echo usage && exit 1", "{ echo usage; exit 1; }"):
        guard = f"[ $# -ne 1 ] && {wrong}\n{TORCHRUN}"
        assert words(guard, "a") == () and problems(guard, "a", "b") == ["line 1: exit ends the script."]
    assert words(f"{TORCHRUN} --x\nexit 1") == ("--x",)


def test_functions_that_call_each_other_too_often_are_refused() -> None:
    script = "f0() { :; }\n" + "".join(f"f{n}() {{ f{n - 1}; f{n - 1}; }}\n" for n in range(1, 16))
    (said,) = problems(f"{script}f15\n{TORCHRUN}")
    assert said == "train.sh: its functions call each other too often."


def test_a_sourced_script_has_its_own_folder_and_arguments() -> None:
    Path("lib").mkdir()
    own = 'ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)\nMAIN=$(basename $0)\n. "$ROOT/b.sh"\nN=$1\n'
    Path("lib/env.sh").write_text(f'{own}if [ -n "$N" ]; then return; fi\nN=none\n')
    Path("lib/b.sh").write_text(
        "B=$(dirname ${BASH_SOURCE[0]})\nin_b() { F=$(dirname ${BASH_SOURCE[0]}); }\n"
    )
    script = f"source lib/env.sh 8\n{TORCHRUN} $ROOT $MAIN $B $N $1 $(dirname ${{BASH_SOURCE[0]}})"
    assert words(script, "4") == ("lib", "train.sh", "lib", "8", "4", ".")
    script = f"source lib/env.sh 8\nin_b\n{TORCHRUN} $F $(dirname ${{BASH_SOURCE[0]}})"
    assert words(script) == ("lib", ".")


@pytest.mark.parametrize(
    "line",
    [
        "MODEL=<YOUR_PATH>",
        "export DATA=<your data>",
        "python train.py <YOUR_PATH>",
        "A=(--model <MODEL>\n--lr 1)",
    ],
)
def test_a_placeholder_anywhere_is_refused(line: str) -> None:
    (said,) = problems(f"{line}\n{TORCHRUN} --x" if line[0] != "p" else line)
    assert said.startswith("train.sh: line 1: <") and said.endswith("> is a placeholder.")


def test_each_option_of_a_job_line_is_looked_at() -> None:
    run = read(
        f"#!/bin/bash\n#SBATCH -N 2 --mail-type=END -e err --dependency afterok:1\n{TORCHRUN}",
        program="sbatch",
    )
    (note,) = [note for note in run.notes if "#SBATCH" in note.saw and note.id == "shell-left-out"]
    assert note.saw == "train.command: #SBATCH --mail-type=END; --dependency afterok:1 is left out."


def test_a_sourced_script_may_end_the_training_or_change_its_folder() -> None:
    Path("env.sh").write_text("if [ $# -lt 1 ]; then exit 1; fi\ncd sub\n")
    assert problems(f"source env.sh\n{TORCHRUN}") == ["env.sh: line 1: exit ends the script."]
    assert read(f"source env.sh\n{TORCHRUN}", "a").train.command[0].endswith("/sub/train.py")


def test_arguments_of_source_that_only_a_shell_knows_stay_unknown() -> None:
    Path("env.sh").write_text("N=${1:-none}\nD=$2\n")
    assert problems(f'source env.sh $NOBODY "$(date +%Y)"\n{TORCHRUN} $D') == [
        "$(date +%Y): only a shell knows the value of $(date +%Y)."
    ]


def test_a_sourced_script_that_cannot_be_read_leaves_its_variables_unknown() -> None:
    Path("env.sh").write_text("A=<a>\nexport B=2\n")
    (said,) = problems(f"B=1\nsource env.sh\n{TORCHRUN} $B")
    assert said == "$B: only a shell knows what the script sets $B to."


def test_an_option_with_a_value_that_it_need_not_have() -> None:
    run = read(f"#!/bin/bash\n#SBATCH --exclusive=user --mail-type=END\n{TORCHRUN}", program="sbatch")
    assert [note.saw for note in run.notes if "--mail-type" in note.saw and note.id == "shell-left-out"]
