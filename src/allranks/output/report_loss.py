"""The first and the last loss of a training, and where it stopped being a number. Only the standard library."""

from __future__ import annotations

from typing import Any, Dict, Optional, Sequence, Tuple

from allranks.core.untrusted import integer, number
from allranks.output.report_series import LARGEST


class LossEnds:
    """`put` takes the rows of a heartbeat. A bin of the loss chart may stand for a hundred steps, so its ends cannot be
    read from the chart."""

    def __init__(self) -> None:
        self.first_step: Optional[int] = None
        self.last_step: Optional[int] = None
        self.firsts: Dict[int, float] = {}
        self.lasts: Dict[int, float] = {}
        """The losses of the ranks at the first and at the last step with a finite loss."""
        self.broken_at: Optional[int] = None
        """The first step after the last finite loss whose loss is not a finite number."""

    def put(self, rank: int, rows: Sequence[Any]) -> None:
        """Takes rows `[step, loss, …]` of a rank, in the order of steps."""
        if self.first_step is None or (_loss_of(rows[0]) or (0, 0.0))[0] <= self.first_step:
            self._put_first(rank, rows)
        broken = None
        for row in reversed(rows):
            found = _loss_of(row)
            if found is None:
                continue
            step, loss = found
            if loss is not None:
                self._put_last(rank, step, loss)
                break
            broken = step
        if broken is not None and (self.last_step is None or broken > self.last_step):
            self.broken_at = broken if self.broken_at is None else min(self.broken_at, broken)

    def _put_first(self, rank: int, rows: Sequence[Any]) -> None:
        for found in map(_loss_of, rows):
            step, loss = found if found is not None else (0, None)
            if loss is None:
                continue
            if self.first_step is None or step < self.first_step:
                self.first_step, self.firsts = step, {}
            if step == self.first_step:
                self.firsts[rank] = loss
            return

    def _put_last(self, rank: int, step: int, loss: float) -> None:
        if self.last_step is None or step > self.last_step:
            self.last_step, self.lasts = step, {}
        if step == self.last_step:
            self.lasts[rank] = loss
        if self.broken_at is not None and self.broken_at <= step:
            self.broken_at = None

    def cut(self, step: int) -> None:
        """Forgets what comes after this step, because another attempt takes those steps again."""
        if self.first_step is not None and self.first_step > step:
            self.first_step, self.firsts = None, {}
        if self.last_step is not None and self.last_step > step:
            self.last_step, self.lasts = None, {}
        if self.broken_at is not None and self.broken_at > step:
            self.broken_at = None

    @property
    def first(self) -> Optional[float]:
        return _mean(self.firsts)

    @property
    def last(self) -> Optional[float]:
        return _mean(self.lasts)


def _loss_of(row: Any) -> Optional[Tuple[int, Optional[float]]]:
    """The step of a row and its loss, which is None if it is not a finite number. None for a row without a loss."""
    if not isinstance(row, (list, tuple)) or len(row) < 2 or row[1] is None:
        return None
    step, loss = integer(row[0]), number(row[1])
    if step is None or step < 0:
        return None
    return step, loss if loss is not None and abs(loss) < LARGEST else None


def _mean(losses: Dict[int, float]) -> Optional[float]:
    return sum(losses.values()) / len(losses) if losses else None
