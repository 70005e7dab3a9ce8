"""The command line itself: help, completion, bad usage, and what `--help` may not cost."""

from __future__ import annotations

import subprocess
import sys

import pytest

from allranks import cli

HEAVY = {"torch", "transformers", "rich", "yaml", "asyncssh", "asyncio"}


@pytest.mark.parametrize("verb", cli.verb_names())
def test_each_verb_has_help(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        cli.main([verb, "--help"])
    assert exit_.value.code == 0
    out = capsys.readouterr().out
    assert verb in out and len(out.splitlines()) > 5


def test_the_designs_verbs_are_there() -> None:
    wanted = {"init", "check", "plan", "run", "ps", "watch", "logs", "stop", "diagnose", "checkpoints"}
    assert wanted | {"clean", "report", "explain", "schema"} <= set(cli.verb_names())


def test_help_imports_nothing_heavy() -> None:
    code = "import sys; from allranks import cli; cli.build_parser(); print(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not HEAVY & set(done.stdout.split())


def test_an_unknown_verb_is_bad_input(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        cli.main(["chek"])
    assert exit_.value.code == 2
    assert capsys.readouterr().err == "chek is not a verb of allranks\n  fix  allranks check\n"


def test_a_run_file_that_is_not_there_is_bad_input(capsys: pytest.CaptureFixture[str], tmp_path) -> None:
    assert cli.main(["plan", str(tmp_path / "no.yaml")]) == 2
    assert "no.yaml" in capsys.readouterr().err
