"""`make which-tests`: which test files a change asks for, and in which tiers they are."""

from __future__ import annotations

import pytest

from tests.which import ROOT, Tree, tiers

FILES = {
    "src/allranks/__init__.py": "",
    "src/allranks/cli/__init__.py": "import pkgutil\npkgutil.iter_modules([])\nfrom allranks.launch import start\n",
    "src/allranks/cli/verb.py": "",
    "src/allranks/launch/__init__.py": "",
    "src/allranks/launch/start.py": "def go():\n    from allranks.node import bundle\n",
    "src/allranks/node/__init__.py": "",
    "src/allranks/node/bundle.py": 'ROOMS = ("node", "monitor")\nPARTS = (("runs", ("keeper",)),)\n',
    "src/allranks/plan/__init__.py": '"""See tests/plan/test_plan.py and allranks.launch.start."""\n',
    "src/allranks/runs/keeper_end.py": "",
    "src/allranks/runs/local.py": "",
    "src/allranks/monitor/pace.py": "",
    "tests/conftest.py": "",
    "tests/plan/test_plan.py": "import allranks.plan\nDATA = HERE / 'data' / \"counted.json\"\n",
    "tests/runs/__init__.py": "",
    "tests/runs/conftest.py": "",
    "tests/runs/runner.py": "COMMAND = ['python', '-m', 'allranks.cli']\n",
    "tests/runs/scripts/loop.py": "",
    "tests/runs/test_ends.py": "from tests.runs.runner import COMMAND\nLOOP = 'scripts/loop.py'\n",
    "tests/monitor/cases/__init__.py": "from allranks.core.rules import modules\nCASES = modules(__name__)\n",
    "tests/monitor/cases/node_lost.py": "FIRES = []\n",
    "tests/monitor/test_cases.py": "from tests.monitor.cases import CASES\n",
    "tests/monitor/test_pace.py": "from allranks.monitor import pace\n",
}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    root = tmp_path_factory.mktemp("repository")
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return Tree(root)


@pytest.mark.parametrize(
    ("changed", "asked"),
    [
        ("tests/monitor/test_pace.py", "monitor/test_pace"),
        (
            "src/allranks/monitor/pace.py",
            "monitor/test_pace runs/test_ends",
        ),  # it travels to the nodes of every run
        ("src/allranks/runs/keeper_end.py", "runs/test_ends"),
        ("src/allranks/runs/local.py", ""),
        ("src/allranks/cli/verb.py", "runs/test_ends"),  # found at run time
        ("src/allranks/launch/start.py", "runs/test_ends"),  # a docstring that names it needs nothing of it
        ("src/allranks/plan/__init__.py", "plan/test_plan"),
        ("tests/runs/runner.py", "runs/test_ends"),
        ("tests/runs/scripts/loop.py", "runs/test_ends"),
        ("tests/runs/conftest.py", "runs/test_ends"),
        ("tests/monitor/cases/node_lost.py", "monitor/test_cases"),  # found at run time
        ("tests/plan/data/counted.json", "plan/test_plan"),
        ("docs/anything.md", ""),
        ("pyproject.toml", "monitor/test_cases monitor/test_pace plan/test_plan runs/test_ends"),
    ],
)
def test_what_a_change_asks_for(tree: Tree, changed: str, asked: str) -> None:
    assert tree.asked_for([changed]) == [f"tests/{name}.py" for name in asked.split()]


@pytest.mark.lengthy
def test_the_bundle_and_the_rules_of_this_repository_are_known() -> None:
    tree = Tree(ROOT)
    needs = tree.needs["src/allranks/node/bundle.py"]
    assert {"src/allranks/monitor/hang_thresholds.py", "src/allranks/runs/keeper.py"} <= needs
    assert "src/allranks/runs/index.py" not in needs
    assert "src/allranks/monitor/detectors/gpu_idle.py" in tree.imports["src/allranks/monitor/catalogue.py"]
    assert "src/allranks/probe/rules/link_slow.py" in tree.imports["src/allranks/probe/catalogue.py"]
    assert {"tests/runs/test_faults.py", "tests/monitor/test_hang_thresholds.py"} <= set(
        tree.asked_for(["src/allranks/monitor/hang_thresholds.py"])
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def test_a(): ...", ["fast"]),
        ("pytestmark = pytest.mark.rig\ndef test_a(): ...", ["slow"]),
        (
            "pytestmark = [pytest.mark.rig]\n@pytest.mark.seldom\ndef test_a(): ...\ndef test_b(): ...",
            ["slow", "seldom"],
        ),
        (
            "@pytest.mark.timeout(3)\ndef test_a(): ...\n@pytest.mark.training\ndef test_b(): ...",
            ["fast", "slow"],
        ),
        ("def helper(): ...", []),
    ],
)
def test_the_tiers_of_a_file(text: str, expected: list[str]) -> None:
    assert tiers(text) == expected
