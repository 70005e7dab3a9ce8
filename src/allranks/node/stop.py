"""The verb `stop`: the keeper is asked; it ends the run on every node and says so."""

from __future__ import annotations

import errno
import glob
import os
import time
from contextlib import suppress
from typing import Any, Dict

from allranks.node.paths import RunDirectory, read_json, write_json
from allranks.node.run_reader import FINAL, status


def request(run_id: str, save: bool = False) -> Dict[str, Any]:
    """Leaves `keeper/stop.json` for the run's keeper. `asked` is False, with `why`, if that would not help.

    With `save` the ranks save first if they can; `save_seconds` is the most time that they get.

    Raises BadInput if there is no such run, OSError if the file cannot be written.
    """
    state = status(run_id)
    answer = {"run_id": run_id, "state": state["state"], "asked": False}
    if state["state"] in FINAL:
        return {**answer, "why": "it has ended"}
    if state["state"] is None and "silent_seconds" not in state:
        return {**answer, "why": "its keeper is not on this node"}
    directory = RunDirectory(run_id)
    leave(directory, {"at": time.time(), "why": "asked", "save": save})
    return {**answer, "asked": True, "save_seconds": _save_seconds(directory) if save else 0.0}


def leave(directory: RunDirectory, order: Dict[str, Any]) -> None:
    """Writes the keeper's order to stop. On a full disk it takes the place that the keeper holds for the run's last
    words: without the order nothing could be saved. Raises OSError."""
    try:
        write_json(directory.keeper.stop, order)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        with suppress(FileNotFoundError):
            os.unlink(directory.keeper.reserve)
        write_json(directory.keeper.stop, order)


def _save_seconds(directory: RunDirectory) -> float:
    jobs = (read_json(path) for path in glob.glob(os.path.join(directory.root, "nodes", "*", "job.json")))
    return max([float(job.get("notice_seconds") or 0.0) for job in jobs if job is not None], default=0.0)
