"""`sitecustomize.py` at the root of the bundle, which stands first on the PYTHONPATH of torchrun's tree.

Python runs it at the start of every process there. It lets the environment's own sitecustomize run, takes
the bundle off the path again so that no script meets our package by chance, and only in a rank starts
`allranks.worker`. Whatever fails here must not stop the user's training.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # importing typing would cost every Python of the run 5 ms
if TYPE_CHECKING:
    from typing import Any, Callable

BUNDLE = os.path.dirname(os.path.abspath(__file__))
RANK_VARIABLES = ("ALLRANKS_RUN_ID", "RANK", "LOCAL_RANK")


def find(name: str) -> Any:
    """The spec of a top-level module as Python would find it without us; None if there is none."""
    for finder in sys.meta_path:
        spec = finder.find_spec(name, None) if hasattr(finder, "find_spec") else None
        if spec is not None:
            return spec
    return None


def run_next() -> None:
    """Runs the sitecustomize that would have run if the bundle's were not before it in the path."""
    from importlib.util import module_from_spec

    spec = find("sitecustomize")
    if spec is not None and spec.loader is not None:
        module = module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


def activate() -> None:
    """Imports our package from the bundle alone; modules that it lacks may come from an installed one."""
    from importlib import import_module

    installed = find("allranks")
    sys.path.insert(0, BUNDLE)
    try:
        site = import_module("allranks.worker.activation")
    finally:
        sys.path.remove(BUNDLE)
    if installed is not None:
        sys.modules["allranks"].__path__.extend(installed.submodule_search_locations or ())
    site.activate()


def safely(step: Callable[[], None]) -> None:
    try:
        step()
    except Exception as error:
        sys.stderr.write(
            f"allranks: {step.__name__} failed in sitecustomize: {type(error).__name__}: {error}\n"
        )


sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != BUNDLE]
safely(run_next)
if all(name in os.environ for name in RANK_VARIABLES):
    safely(activate)
