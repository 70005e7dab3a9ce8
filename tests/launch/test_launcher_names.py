"""A launcher's name stands in its own file: other rooms ask its record, and compare no names."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import allranks
from allranks import spec
from allranks.core import BadInput
from allranks.spec import launchers

SOURCE = Path(allranks.__file__).parent
OWN_ROOMS = ("launch", "diagnose")
"""Logs speak of launchers by name: `diagnose` reads them."""

ALSO_OTHER_THINGS = {
    "ssh": "the program",
    "local": "an adjective",
    "ray": "the package, and the node program's verb",
    "deepspeed": "the package, and the run file's key",
    "accelerate": "the package",
    "torchrun": "the program that starts the ranks",
}
"""Names of launchers that mean something else as well: found where they can only mean the launcher."""

PASTED = {"spec/train.py", "checks/lint/arguments.py"}
COMMANDS = "spec/commands/"
"""They read other people's command lines, in which programs stand by these names."""


def files() -> list[str]:
    """Every module outside of these rooms, but for the record itself, which names the default."""
    found = [path.relative_to(SOURCE) for path in sorted(SOURCE.rglob("*.py"))]
    outside = {str(path) for path in found if path.parts[0] not in OWN_ROOMS}
    others = {path for path in outside if not path.startswith(COMMANDS)}
    return sorted(others - PASTED - {"spec/launchers.py"})


def explaining(tree: ast.AST) -> set[ast.AST]:
    """Texts that stand alone, which only people read, and the cases of a rule."""
    cases = [n for n in ast.walk(tree) if isinstance(n, ast.Assign) and "CASES" in ast.unparse(n.targets[0])]
    return {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)} | {
        inner for case in cases for inner in ast.walk(case)
    }


def texts(tree: ast.AST) -> Iterator[ast.Constant]:
    left_out = explaining(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in left_out:
            yield node


def is_about_launchers(node: ast.AST) -> bool:
    """Whether a comparison, a call or a keyword is about a run's launcher."""
    if isinstance(node, ast.Compare):
        return bool(re.search(r"with_|launch", ast.unparse(node)))
    if isinstance(node, ast.Call):
        return bool(re.search(r"(^|\.)(reached|find|Launch)$", ast.unparse(node.func)))
    return isinstance(node, ast.keyword) and node.arg in ("with_", "launch", "launcher")


def named(text: str) -> list[tuple[int, str]]:
    """The launchers' names in a file's literals, each with its line."""
    tree = ast.parse(text)
    alone = [name for name in launchers.names() if name not in ALSO_OTHER_THINGS]
    one = re.compile(rf"(?<![\w$./-])({'|'.join(alone)})(?![\w.-]|/)")
    advice = re.compile(
        rf"with: ({'|'.join(launchers.names())})\b|--render ({'|'.join(launchers.names())})\b"
    )
    found = [
        (node.lineno, node.value)
        for node in texts(tree)
        if one.search(node.value) or advice.search(node.value)
    ]
    for node in ast.walk(tree):
        if is_about_launchers(node):
            inner = [part for part in ast.walk(node) if isinstance(part, ast.Constant)]
            found += [(part.lineno, str(part.value)) for part in inner if part.value in launchers.names()]
    return found


@pytest.mark.lengthy
def test_no_launchers_name_stands_outside_its_file() -> None:
    found = {name: named((SOURCE / name).read_text(encoding="utf-8")) for name in files()}
    assert {name: names for name, names in found.items() if names} == {}
    assert len(found) > 400


@pytest.mark.parametrize(
    "text",
    [
        'if run.launch.with_ == "ray": pass',
        'if launcher in ("ssh", "local"): pass',
        'REACHED = ("slurm",)',
        'reached(nodes, "local")',
        'fix = "launch: {with: ssh}"',
        'Launch(with_="deepspeed")',
        'f"{x}: pdsh runs one command"',
    ],
)
def test_a_name_that_stands_there_is_found(text: str) -> None:
    assert named(text)


@pytest.mark.parametrize(
    "text",
    [
        '"""slurm explains."""',
        'import_("deepspeed")',
        'run(["ssh", "-O"])',
        '"SLURM_JOB_ID"',
        '"/etc/slurm.conf"',
    ],
)
def test_what_is_no_launchers_name_is_not_found(text: str) -> None:
    assert not named(text)


def test_each_file_holds_the_launcher_of_its_name() -> None:
    for name in launchers.names():
        launcher = launchers.find(name)
        assert launcher.name == name and launcher.says.endswith(".")
        assert not (launcher.command and launcher.begin)


@pytest.mark.parametrize("name", ["", "slrum", "../x", "_playbook", "SSH"])
def test_an_unknown_launcher_is_an_error_and_never_ssh(name: str) -> None:
    with pytest.raises(BadInput, match="is not a launcher"):
        launchers.find(name)


@pytest.mark.parametrize("name", [name for name in launchers.names() if not launchers.find(name).starts])
def test_one_that_is_rendered_alone_starts_no_run_and_the_fix_says_how(name: str) -> None:
    with pytest.raises(BadInput) as wrong:
        spec.loads(f"nodes: [a]\ntrain: {{command: [x.py]}}\nlaunch: {{with: {name}}}\n")
    assert f"--render {name}" in str(wrong.value)


@pytest.mark.parametrize(("page", "starting_alone"), [("scripts.md", False), ("runs.md", True)])
def test_the_pages_tables_name_every_launcher(page: str, starting_alone: bool) -> None:
    text = (SOURCE.parents[1] / "docs" / page).read_text(encoding="utf-8")
    first_cells = " ".join(re.findall(r"^\| (`[^|]*) \|", text, re.MULTILINE))
    wanted = [one.name for one in launchers.every() if one.starts or not starting_alone]
    assert [name for name in wanted if f"`{name}`" not in first_cells] == []
