"""The hashes of what is installed: of all that the lists name, and compared by the script that installs."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pip
import pytest

from scripts import audit, lock
from tests.which import ROOT


@pytest.mark.parametrize("name", lock.LISTS)
def test_each_locked_file_has_the_versions_of_its_lists_and_a_hash_of_each(name: str) -> None:
    text = (ROOT / "requirements" / "locked" / f"{name}.txt").read_text().replace("\\\n", " ")
    rows = [line.split() for line in text.splitlines() if not line.startswith("#")]
    assert {row[0].partition("==")[0]: row[0].partition("==")[2] for row in rows} == lock.wanted(name), (
        "make lock"
    )
    assert all(
        row[1:] and all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", h) for h in row[1:]) for row in rows
    )


@pytest.mark.parametrize(
    ("file", "fits"),
    [
        ("a-1-py3-none-any.whl", True),
        ("a-1-py2.py3-none-any.whl", True),
        ("a-1-py311-none-any.whl", True),
        ("a-1-cp39-abi3-manylinux_2_17_x86_64.manylinux2014_x86_64.whl", True),
        ("a-1-cp312-cp312-manylinux_2_28_aarch64.whl", True),
        ("a-1.tar.gz", True),
        ("a-1-cp310-cp310-manylinux_2_28_x86_64.whl", False),
        ("a-1-cp313-cp313t-manylinux_2_28_x86_64.whl", False),
        ("a-1-cp314-abi3-manylinux_2_28_x86_64.whl", False),
        ("a-1-cp311-cp311-musllinux_1_2_x86_64.whl", False),
        ("a-1-cp311-cp311-macosx_11_0_arm64.whl", False),
        ("a-1-cp311-cp311-win_amd64.whl", False),
    ],
)
def test_the_files_of_our_environments_are_kept(file: str, fits: bool) -> None:
    assert lock.fits(file) is fits


def test_nothing_is_installed_but_by_the_locked_lists() -> None:
    """What `pip install` may fetch without a hash: torch, which each index has its own build of, and what it brings."""
    places = [ROOT / "Makefile", *(ROOT / "scripts").glob("*.sh")]
    fetched = {
        line.strip()
        for path in places
        for line in path.read_text().splitlines()
        if re.search(r"(pip.*install|pip\[@\]).* -r ", line) and not line.lstrip().startswith("#")
    }
    assert {line for line in fetched if "locked" not in line and "hashes" not in line} <= {
        '"${pip[@]}" -r requirements/torch.txt -c "$2"',
        'wanted=$("$1/bin/pip" install --dry-run --quiet --ignore-installed --report - -r requirements/torch.txt \\',
        "\"${pip[@]}\" -r <(sed -e 's/ *\\\\$//' -e '/^ *--hash=/d' \"$list\")",
    }


def wheel(folder: Path, text: str) -> Path:
    path = folder / "locked_probe-1.0-py3-none-any.whl"
    about = "locked_probe-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in (
            ("locked_probe.py", text),
            (f"{about}/METADATA", "Metadata-Version: 2.1\nName: locked-probe\nVersion: 1.0\n"),
            (f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"),
            (f"{about}/RECORD", ""),
        ):
            archive.writestr(zipfile.ZipInfo(name), content)  # of a fixed time, for one hash
    return path


@pytest.mark.lengthy
def test_a_file_that_was_replaced_on_the_index_is_not_installed(tmp_path: Path) -> None:
    index, lists, target = (tmp_path / name for name in ("index", "lists", "target"))
    for folder in (index, lists):
        folder.mkdir()
    digest = hashlib.sha256(wheel(index, "GOOD = True\n").read_bytes()).hexdigest()
    (lists / "probe.txt").write_text(f"# made\nlocked-probe==1.0 \\\n    --hash=sha256:{digest}\n")
    folder = tmp_path / "venv" / "bin"
    folder.mkdir(parents=True)
    (folder / "python").symlink_to(sys.executable)
    env = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    env |= {
        "ALLRANKS_LOCKED": str(lists),
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(index),
        "PIP_CONFIG_FILE": "/dev/null",
    }
    env["PYTHONPATH"] = str(Path(str(pip.__file__)).parent.parent)

    def install(*options: str, **more: str) -> subprocess.CompletedProcess[str]:
        words = [ROOT / "scripts" / "locked.sh", folder.parent, "probe", "--target", target, *options]
        return subprocess.run(words, env={**env, **more}, capture_output=True, text=True, timeout=120)

    wheel(index, "EVIL = True\n")
    done = install()
    assert done.returncode == 1 and not target.exists(), done.stderr
    assert "nothing of" in done.stderr and "ALLRANKS_UNLOCKED=1" in done.stderr
    assert install(ALLRANKS_UNLOCKED="1").returncode == 0, "whoever runs the index may say that it is right"
    assert (target / "locked_probe.py").read_text() == "EVIL = True\n"
    wheel(index, "GOOD = True\n")
    assert install("--upgrade").returncode == 0
    assert (target / "locked_probe.py").read_text() == "GOOD = True\n"


@pytest.mark.parametrize(
    ("answer", "code", "says"),
    [
        ({}, 3, "could not look"),
        ({"dependencies": [{"name": "a", "skip_reason": "not found"}]}, 3, "could not look"),
        (
            {"dependencies": [{"name": "a", "version": "1", "vulns": []}]},
            0,
            "nothing is known against 1 packages",
        ),
        (
            {
                "dependencies": [
                    {"name": "a", "version": "1", "vulns": [{"id": "CVE-1", "fix_versions": ["2"]}]},
                    {"name": "b", "skip_reason": "not found"},
                ]
            },
            1,
            "a 1: CVE-1, fixed in 2\ncould not look at 1 of 2: b",
        ),
    ],
)
def test_what_pip_audit_answers_is_told_and_no_answer_is_no_clean_bill(
    answer: dict[str, Any], code: int, says: str
) -> None:
    found, lines = audit.judged(answer)
    assert found == code and says in "\n".join(lines)


def test_what_is_audited_are_the_locked_versions_without_hashes() -> None:
    texts = ["# a list\njinja2==3.1.6 \\\n    --hash=sha256:00\n", "--extra-index-url x\ntorch==2.13.0\n"]
    assert audit.pins(texts) == ["jinja2==3.1.6", "torch==2.13.0"]
    assert len(audit.pins([path.read_text() for path in audit.LISTS])) > 80
