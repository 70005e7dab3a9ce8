"""The values of a run's secrets."""

from __future__ import annotations

import os

from allranks.core import BadInput, Problem
from allranks.spec import Run


def secret_values(run: Run) -> dict[str, str]:
    """The values of the run's secrets, from this process's environment. Raises BadInput that names all missing ones."""
    missing = [name for name in run.secrets if name not in os.environ]
    if missing:
        raise BadInput(
            Problem(
                f"secrets: {name} is not set in the environment of allranks",
                why="the ranks would start without it.",
                do=f"export {name}=… and run again, or take it out of secrets",
                file=run.file,
                line=run.line("secrets"),
            )
            for name in missing
        )
    return {name: os.environ[name] for name in run.secrets}
