"""`plan --render`: files that run without allranks. `render` is pure: a run and its plan go in, files come out.

A target is a launcher (`launch/launchers/`). The modules with an underscore are shared between the targets. Every
value reaches its program as data: as a quoted word of a bash array, or in a JSON or YAML file, never in a command
that a shell reads twice.
"""

from __future__ import annotations

from collections.abc import Mapping

from allranks.launch.scripts._job import File, ScriptJob, checked
from allranks.launch.scripts._write import write
from allranks.plan import Plan
from allranks.spec import Run
from allranks.spec.launchers import find

__all__ = ["File", "render", "write"]


def render(target: str, run: Run, plan: Plan, python: str) -> Mapping[str, File]:
    """The files of one target, by name. `python` is the training environment's Python on the nodes. Raises BadInput for
    settings that the target cannot express.
    """
    return find(target).render(checked(ScriptJob(run, plan, python)))
