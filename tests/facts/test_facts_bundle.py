"""The facts travel as one zip and are found in it; they need nothing but the standard library."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path

from allranks.node import facts

SOURCE = Path(facts.__file__).resolve().parents[2]


def test_every_family_is_found_in_a_zip(tmp_path, home):
    bundle = tmp_path / "bundle.zip"
    with zipfile.ZipFile(bundle, "w") as archive:
        archive.write(SOURCE / "__init__.py", "allranks/__init__.py")
        for room in ("core", "node"):
            for path in sorted((SOURCE / room).rglob("*.py")):
                archive.write(path, Path("allranks") / path.relative_to(SOURCE))
    code = (
        f"import json, sys; sys.path.insert(0, {str(bundle)!r}); from allranks.node import facts; "
        "assert '.zip' in facts.__file__; print(json.dumps([facts.families(), facts.collect({}).as_json()]))"
    )
    # -I -S: no site-packages, no environment: the standard library alone.
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, timeout=30
    )
    assert done.returncode == 0, done.stderr
    names, collected = json.loads(done.stdout)
    assert names == facts.families() and {"system", "gpus", "storage"} <= set(names)
    assert set(names) <= set(collected["values"])


def test_each_family_says_what_it_is():
    import importlib

    for name in facts.families():
        module = importlib.import_module(f"allranks.node.facts.{name}")
        assert (module.__doc__ or "").strip() and callable(module.read)
