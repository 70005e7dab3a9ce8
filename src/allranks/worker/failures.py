"""An exception as data, and whether it is about the communication with other ranks."""

from __future__ import annotations

import os
from typing import Any, List

from allranks.core import communication
from allranks.core.rank_events import Cause, Frame, Raised

MESSAGE_CHARACTERS = 4000
FRAMES = 60
CHAIN = 4


def describe(value: BaseException, trace: Any) -> Raised:
    """An exception as an event. Texts are kept as they are, control characters too: they are data."""
    folder = folder_of(value)
    return Raised(
        **({"folder": folder} if folder else {}),
        type=type(value).__name__[:200],
        message=message(value),
        frames=frames(trace if trace is not None else value.__traceback__),
        communication=is_communication(value),
        causes=[Cause(type=type(one).__name__[:200], message=message(one)[:1000]) for one in causes(value)],
    )


def folder_of(value: BaseException) -> str:
    """The folder that the rank is in, if a relative path was looked for in it in vain; else an empty text."""
    name = getattr(value, "filename", None)
    if not isinstance(value, FileNotFoundError) or not isinstance(name, str) or os.path.isabs(name):
        return ""
    try:
        return os.getcwd()
    except OSError:
        return ""


def message(value: BaseException) -> str:
    """str() of an exception, long ones without their middle; one that cannot be printed says so."""
    try:
        text = str(value)
    except Exception as error:
        return f"(its text could not be made: {type(error).__name__})"
    if len(text) <= MESSAGE_CHARACTERS:
        return text
    half = MESSAGE_CHARACTERS // 2
    return f"{text[:half]}\n... {len(text) - 2 * half} characters ...\n{text[-half:]}"


def frames(trace: Any) -> List[Frame]:
    """The innermost FRAMES of a traceback, outermost first, without those of allranks."""
    found: List[Frame] = []
    ours = os.path.dirname(__file__)
    while trace is not None:
        code = trace.tb_frame.f_code
        if not code.co_filename.startswith(ours):
            found.append(Frame(code.co_filename[:500], trace.tb_lineno, code.co_name[:200]))
            if len(found) > FRAMES:
                del found[0]
        trace = trace.tb_next
    return found


def causes(value: BaseException) -> List[BaseException]:
    """The exceptions that this one was raised from or while handling, nearest first."""
    found: List[BaseException] = []
    seen = {id(value)}
    while len(found) < CHAIN:
        before = value.__cause__ or (None if value.__suppress_context__ else value.__context__)
        if before is None or id(before) in seen:
            break
        seen.add(id(before))
        found.append(before)
        value = before
    return found


def is_communication(value: BaseException) -> bool:
    """Whether a collective or the network failed: then this rank may only be suffering from another's death."""
    return communication.is_communication([kind.__name__ for kind in type(value).__mro__], message(value))
