"""Lists of a shell (`a && b || c`), negations, patterns, and commands that change variables: as bash reads them."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from allranks import spec
from allranks.spec.problems import Wrong
from allranks.spec.shell_following import follow

BASH = shutil.which("bash")
SCRIPTS = [
    '[ "$MODE" = full ] && X=1 || X=2',
    '[ "$MODE" = lora ] && X=1 || X=2',
    '[ "$MODE" = lora ] && [ -n "$MODE" ] && X=1',
    '[ "$MODE" = full ] && [ "$MODE" = full ] && X=1',
    '[ "$MODE" = lora ] || [ "$MODE" = full ] && X=1',
    "false || X=1; true || X=2",
    "true && X=1 || X=2; false && X=3",
    'if ! [ "$MODE" = full ]; then X=1; else X=2; fi',
    'if [ ! "$MODE" = full ]; then X=1; else X=2; fi',
    'if ! [ ! "$MODE" = full ]; then X=1; else X=2; fi',
    '! [ "$MODE" = lora ] && X=1',
    "export X=1; unset X",
    "X=$1; shift; X=$X-$1-$#",
    "shift 2; X=$1-$#",
    "A=1; B=2; [ $A -lt $B ] && [ $B -gt 1 ] && X=$A$B || X=none",
]
UNSURE = [
    "hostname | grep -q dgx && X=1",
    "which ibstat || X=1",
    '[[ "$MODE" == *ul* ]] && X=1',
    "[[ -n $MODE && $MODE == full ]] && X=1",
    "((3 > 2)) && X=1",
    "X=1; read X < x.txt",
    'printf -v X "%s" 3',
    "X=1; let X=X+1",
    "[ -f x ] && X=1 || X=2",
]
END = "\ntorchrun train.py --x=$X\n"


def word(script: str) -> str:
    session = follow(f"MODE=full\nX=0\n{script}{END}", {}, "/scripts/train.sh", ["one", "two", "three"])
    return str(session.words[-1])


@pytest.mark.parametrize("script", SCRIPTS)
def test_it_is_read_as_bash_runs_it(script: str) -> None:
    text = f'MODE=full\nX=0\n{script}\nprintf %s "--x=$X"\n'
    done = subprocess.run(
        [str(BASH), "-c", text, "bash", "one", "two", "three"], capture_output=True, text=True, check=True
    )
    assert word(script) == done.stdout


@pytest.mark.parametrize("script", UNSURE)
def test_what_only_a_shell_knows_is_not_guessed(script: str) -> None:
    found = follow(f"MODE=full\nX=0\n{script}{END}", {}, "/scripts/train.sh").words[-1]
    assert getattr(found, "needs", None), found


def test_a_second_command_is_never_left_out_in_silence() -> None:
    session = follow("python prepare.py --all\ntorchrun train.py\n", {}, "/scripts/train.sh")
    assert session.words == ["torchrun", "train.py"]
    assert [what for what, _, _ in session.left_out] == ["python prepare.py --all"]
    with pytest.raises(Wrong, match=r"python prepare\.py"):
        follow("python prepare.py && torchrun train.py", {})


def test_a_setting_that_an_if_may_change_is_named() -> None:
    session = follow(
        "export NCCL_SOCKET_IFNAME=ib0\nif [ -d /nfs ]; then export NCCL_SOCKET_IFNAME=eth1; fi\ntorchrun t.py\n",
        {}, "/scripts/train.sh",
    )  # fmt: skip
    assert session.exported == {} and session.left_out[0][0] == "export NCCL_SOCKET_IFNAME"


@pytest.mark.parametrize(
    ("command", "noted"),
    [
        ("python -m torch.distributed.launch --nproc_per_node 8 train.py", True),
        ("python -m torch.distributed.launch --use_env --nproc_per_node 8 train.py", False),
        ("python -m torch.distributed.launch --nproc_per_node 8 train.py --local-rank=0", False),
        ("python -m torch.distributed.run --nproc_per_node 8 train.py", False),
        ("torchrun --nproc_per_node 8 train.py", False),
    ],
)
def test_a_launcher_that_gives_the_local_rank_as_an_argument_is_named(command: str, noted: bool) -> None:
    run = spec.loads(f"nodes: localhost\ntrain: {{command: {command.split()}}}\n", "run.yaml")
    assert any("would give --local_rank" in note.saw for note in run.notes) is noted
