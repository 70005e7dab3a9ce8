"""The verb `stop`: the keeper is asked; it ends the run on every node and says so."""

from __future__ import annotations

import time
from typing import Any, Dict

from allranks.node.paths import RunDirectory, write_json
from allranks.node.read import FINAL, status


def ask(run_id: str) -> Dict[str, Any]:
    """Leaves `keeper/stop.json` for the run's keeper. `asked` is False, with `why`, where that is no use.

    Raises BadInput where there is no such run, OSError where the file cannot be written.
    """
    state = status(run_id)
    answer = {"run_id": run_id, "state": state["state"], "asked": False}
    if state["state"] in FINAL:
        return {**answer, "why": "it has ended"}
    if state["state"] is None:
        return {**answer, "why": "its keeper is not on this node"}
    write_json(RunDirectory(run_id).keeper.stop, {"at": time.time(), "why": "asked"})
    return {**answer, "asked": True}
