"""What a batch system is asked by a run: a job that holds its nodes, its place in the queue, its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from allranks.spec import Run


class Job(Protocol):
    """One job as its queue tells of it. `state` is empty if the queue knows the job no more."""

    @property
    def number(self) -> str: ...
    @property
    def shown(self) -> str: ...
    @property
    def state(self) -> str: ...
    @property
    def reason(self) -> str: ...
    @property
    def nodes(self) -> str: ...
    @property
    def waits(self) -> bool: ...
    @property
    def runs(self) -> bool: ...


class Queue(Protocol):
    """A launcher's `queue()`: a module or an object."""

    @property
    def NAME(self) -> str:
        """What people call it."""
        ...

    def allocation(self, environ: Mapping[str, str]) -> str | None:
        """The number of the job that a process with these variables is in."""
        ...

    async def submit(self, run: Run, run_id: str, again: Sequence[Sequence[str]], tasks: int = 0) -> str:
        """Submits the job, or an array of so many tasks; its number. `again` are the commands that start each task
        once more, for a job that is queued again. Raises BadInput for a job that is refused."""
        ...

    async def job(self, number: str) -> Any:
        """The `Job`. Raises CouldNotTell."""
        ...

    async def turn(self, first: bool = False) -> None:
        """Waits until it is time to look again; those who wait look together, ever more seldom."""
        ...

    async def claim(self, job: Any, run_id: str) -> None:
        """Says of a job of ours whose it is now; of another's nothing."""
        ...

    async def cancel(self, number: str, run_id: str) -> bool:
        """Ends the job if it was submitted for this run; False if it was not, or is not there any more."""
        ...

    async def ending(self, number: str) -> str:
        """How a job ended, in the queue's words; empty if it knows no more."""
        ...
