"""Output that a log shows after a failure though the program printed it before.

CPython keeps up to `io.DEFAULT_BUFFER_SIZE` bytes of `print` if the output is a file or a pipe. It writes them before
the traceback of a script, but after that of `python -m` (`pymain_run_module`, `Modules/main.c`).
"""

from __future__ import annotations

import io
from typing import Union

from allranks.diagnose.complaints import Heard
from allranks.diagnose.counting import is_logged
from allranks.diagnose.store import Store
from allranks.diagnose.streams import Raised
from allranks.diagnose.symptom import Hit


def ended_its_program(seen: Store, hit: Union[Hit, Raised, Heard]) -> bool:
    """Whether nobody handled this exception, and the lines after it may all have waited in the program's buffer. A line
    that says that the training came to its end, or that it was started again, shows another program."""
    raised = seen.raised_at(hit)
    if raised is None or not raised.of_main:
        return False
    source, stream = seen.sources[raised.line.source], seen.seen_of(raised.line)
    if (
        max(source.end, source.again[0], source.agent[0]) > raised.order
        or stream.raised[-1].order > raised.order
    ):
        return False
    last = stream.last_plain
    at_once = (last is not None and is_logged(last)) or (
        source.closing > raised.order and source.closed_at_once
    )
    if raised.line.time is None and at_once:  # otherwise a collector of logs may have put the time there
        return False
    is_step = seen.last_step is not None and seen.last_step[0] > raised.order
    last = seen.last_step[1] if is_step and seen.last_step is not None else last
    return (source.last - raised.order) * (
        len(last.text) + 1 if last is not None else 1
    ) <= io.DEFAULT_BUFFER_SIZE
