"""Whether a run can save before it is stopped, and its newest save."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from allranks.core.run_states import FINAL
from allranks.runs import index
from allranks.transport import ProgramFailed, Unreachable


@dataclass(frozen=True)
class Saving:
    """Whether a run can save before it is stopped. `last` is its newest save: `{step, path}`; `why` is the reason if
    that is unknown."""

    can: bool
    trains: bool = False
    last: dict[str, Any] | None = None
    why: str = ""

    def refusal(self) -> str:
        """Why the run cannot save before a stop, and what would be lost. Empty if it can save, or if nothing is
        trained yet."""
        if self.can or not (self.trains or self.why):
            return ""
        if self.why:
            return f"it is not known whether it can save now ({self.why})."
        last = f"Its newest save is {saved_text(self.last)}" if self.last else "No save of it has been seen"
        return (
            "its ranks cannot save on request: only an adapter under a Trainer, and a loop that uses allranks' "
            f"Checkpoints, can. {last}; a stop loses the progress after that."
        )


def saved_text(saved: Mapping[str, Any]) -> str:
    return f"of step {saved.get('step')}: {saved.get('path')}"


async def saving(run_id: str) -> Saving | None:
    """The saves of a run that has not ended; None if it has ended, or waits for its nodes."""
    if index.waiting(run_id) is not None:
        return None
    try:
        async with index.connected_head(run_id) as head:
            status = await head.call("read", "status", run_id)
    except (Unreachable, ProgramFailed) as error:
        return Saving(False, why=error.text)
    if status.get("state") in FINAL:
        return None
    return saving_of(status)


def saving_of(status: Mapping[str, Any]) -> Saving:
    last = status.get("saved")
    why = "" if status.get("state") else str(status.get("why") or "its keeper does not report a state")
    return Saving(
        can=status.get("can_save") is True,
        trains=status.get("step") is not None,
        last=dict(last) if isinstance(last, Mapping) else None,
        why=why,
    )


async def newest_save(run_id: str) -> dict[str, Any] | None:
    """The newest save that the run's head knows; None if there is none, or if the head cannot be asked."""
    try:
        async with index.connected_head(run_id) as head:
            return saving_of(await head.call("read", "status", run_id)).last
    except (Unreachable, ProgramFailed):
        return None
