"""A program for a node that leaves nothing there: its modules come by standard input and are imported from memory.

The node program of a run is in the node's home (`node.bundle`). A look at another job must not even make that folder,
so the code that it needs, some 100 kB, travels with each request.
"""

from __future__ import annotations

import base64
import functools
import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import allranks
from allranks.transport.base import Transport, Unreachable
from allranks.transport.program import ProgramFailed, first_line, is_missing, json_object

BOOT = """
import sys
if sys.version_info < (3, 8):
    print('{"error": "Python 3.8 or newer is needed, this is %s"}' % sys.version.split()[0]); sys.exit(1)
import base64, importlib.abc, importlib.util, json, zlib
wanted = json.loads(zlib.decompress(base64.b64decode(sys.stdin.buffer.read())))
class Modules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        if name in wanted["modules"]:
            is_package = wanted["modules"][name][0]
            return importlib.util.spec_from_loader(name, self, origin="memory", is_package=is_package)
    def exec_module(self, module):
        text = wanted["modules"][module.__name__][1]
        exec(compile(text, "<" + module.__name__ + ">", "exec"), module.__dict__)
sys.dont_write_bytecode = True
sys.meta_path.insert(0, Modules())
name, _, function = wanted["call"].rpartition(".")
try:
    answer = getattr(importlib.import_module(name), function)(wanted["request"])
except OSError as error:
    answer = {"error": "%s: %s" % (error.filename or name, error.strerror or error)}
print(json.dumps(answer))
"""
FLAGS = ("-I", "-S", "-B", "-c")


@functools.lru_cache(maxsize=4)
def modules(names: tuple[str, ...]) -> Mapping[str, tuple[bool, str]]:
    """For each module: whether it is a package, and its text. A name that ends with `.*` is a package with all that
    is in it."""
    root = Path(allranks.__file__).parent
    found: dict[str, tuple[bool, str]] = {"allranks": (True, "")}
    for name in names:
        base, _, _ = name.partition(".*")
        path = root.joinpath(*base.split(".")[1:])
        files = sorted(path.glob("*.py")) if name.endswith(".*") else [path / "__init__.py"]
        for file in files if path.is_dir() else [path.with_suffix(".py")]:
            stem = "" if file.stem == "__init__" else f".{file.stem}"
            found[(base + stem) if path.is_dir() else base] = (
                file.stem == "__init__",
                file.read_text("utf-8"),
            )
    return found


async def call(
    transport: Transport,
    python: str,
    function: str,
    names: tuple[str, ...],
    request: Mapping[str, Any],
    timeout_seconds: float,
) -> dict[str, Any]:
    """The result of `function` (`allranks.node.….name`) of these modules there for `request`: a JSON object. Raises
    Unreachable and ProgramFailed."""
    wanted = {"modules": modules(names), "call": function, "request": request}
    body = base64.b64encode(zlib.compress(json.dumps(wanted).encode(), 6))
    done = await transport.run([python, *FLAGS, BOOT], stdin=body, timeout_seconds=timeout_seconds)
    answer = json_object(done.out)
    if answer is None:
        if is_missing(python, done):
            raise Unreachable(transport.node, "no-python", f"{python} is not there: {first_line(done)}")
        raise ProgramFailed(transport.node, function, f"exit code {done.code}: {first_line(done)}")
    if "error" in answer:
        raise ProgramFailed(transport.node, function, str(answer["error"]), answer)
    return answer
