"""The interface of a batch system for a run: a job that holds its nodes, its place in the queue, its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from allranks.spec import Run


class Job(Protocol):
    """One job as its queue reports it. `state` is empty if the queue no longer knows the job."""

    number: str
    shown: str
    state: str
    reason: str
    nodes: str
    waits: bool
    runs: bool


class Queue(Protocol):
    """A launcher's `queue()`: a module or an object. `NAME` is for messages."""

    NAME: str

    def allocation(self, environ: Mapping[str, str]) -> str | None:
        """The number of the job that a process with these variables belongs to."""
        ...

    async def submit(self, run: Run, run_id: str, again: Sequence[Sequence[str]], tasks: int = 0) -> str:
        """Submits the job, or an array with `tasks`. Returns its number. `again` are the commands that start each
        task again, if the job is requeued. Raises BadInput for a job that is refused."""
        ...

    async def job(self, number: str) -> Any:
        """The `Job`. Raises CouldNotTell."""
        ...

    async def turn(self, first: bool = False) -> None:
        """Waits until it is time to look again. All waiting tasks look together, less and less often."""
        ...

    async def claim(self, job: Any, run_id: str) -> None:
        """Marks a job of allranks as this run's. Other jobs do not change."""
        ...

    async def cancel(self, number: str, run_id: str) -> bool:
        """Ends the job if it was submitted for this run. False if it was not, or no longer exists."""
        ...

    async def ending(self, number: str) -> str:
        """How a job ended, as the queue reports it; empty if the queue does not know."""
        ...
