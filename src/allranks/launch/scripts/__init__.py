"""`plan --render`: what a person can run without allranks. `render` is pure: a run and its plan in, files out.

A target is a module of this package that has `render(job) -> {file name: File}`; its name is the option's.
What begins with an underscore is shared between them. Every value reaches its program as data: as a quoted
word of a bash array, or in a JSON or YAML file, never as part of a command that a shell reads twice.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping

from allranks.core import BadInput, Problem
from allranks.launch.scripts._job import File, ScriptJob, checked
from allranks.launch.scripts._write import write
from allranks.plan import Plan
from allranks.spec import Run

__all__ = ["File", "render", "targets", "write"]


def targets() -> list[str]:
    """The targets there are."""
    return sorted(m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_"))


def render(target: str, run: Run, plan: Plan, python: str) -> Mapping[str, File]:
    """The files of one target, by name. `python` is the training environment's Python on the nodes.

    Raises BadInput for what the target cannot express.
    """
    if target not in targets():
        raise BadInput(Problem(f"{target!r} is no target.", do="one of " + ", ".join(targets())))
    module = importlib.import_module(f"{__name__}.{target}")
    return module.render(checked(ScriptJob(run, plan, python)))
