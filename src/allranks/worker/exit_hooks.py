"""How a rank ends: an uncaught exception, or the regular end of Python. Both are reported before the process ends.

Not seen from here: a signal, and the code of a bare `raise SystemExit(n)` (told as 0). torchrun's own codes,
which the supervisor reads, are the authority.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading

from allranks.worker import guard
from allranks.worker.rank_reporter import Rank

TYPE_CHECKING = False  # typing costs a start 5 ms; type checkers take this for theirs
if TYPE_CHECKING:
    from typing import Any, Optional

EXCEPTION_SECONDS = 5.0
FLIGHT_SECONDS = 1.0
PROGRAM = ("<module>", "_run_module_as_main")
"""The outermost frame of a program: of a script, and of a module that `python -m` starts."""
END_SECONDS = 5.0
"""How long the end waits for the disk. A healthy disk takes the event in less than a millisecond."""


class ExitHooks:
    """Tells the exception that ends the rank, once, and the end itself, once."""

    def __init__(self, rank: Rank):
        self.rank = rank
        self.told: Optional[BaseException] = None
        self.ended = False
        self._hook: Any = None
        self._printed: Optional[BaseException] = None
        """The last one that was only printed: the program went on."""

    def install(self) -> None:
        """Chains into sys.excepthook, sys.exit, os._exit and atexit. The previous hooks are still called."""
        self._chain_excepthook()
        self._watch_exit()
        atexit.register(self.at_exit)

    def _chain_excepthook(self) -> None:
        before = sys.excepthook

        def excepthook(kind: Any, value: Any, trace: Any) -> None:
            if ends_the_program():
                self.tell(value, trace)
            else:
                self._printed = value
            before(kind, value, trace)

        self._hook = sys.excepthook = excepthook

    def _watch_exit(self) -> None:
        """Records the arguments of sys.exit and os._exit, since Python offers no other way to learn its exit code."""

        def exiting(args: Any, kwargs: Any) -> None:
            if threading.current_thread() is not threading.main_thread():
                return  # it ends that thread alone
            self.rank.exit_code = code_of(args[0] if args else kwargs.get("status"))

        def leaving(args: Any, kwargs: Any) -> None:
            code = code_of(args[0] if args else kwargs.get("status"))
            self._tell_printed(code)
            self.end(code)

        sys.exit = guard.around(sys.exit, exiting)
        os._exit = guard.around(os._exit, leaving)

    def tell(self, value: Any, trace: Any) -> None:
        """Writes the `exception` event and waits for it a moment, since a dying process cannot write it later."""
        guard.guarded(self._tell)(value, trace)

    def _tell(self, value: Any, trace: Any) -> None:
        if value is None or value is self.told or isinstance(value, SystemExit) or not self.rank.is_here:
            return
        self.told = value
        # Loaded by the heartbeat thread long since; here only if the rank ends within its first moments.
        from allranks.worker import failures, flight_recorder

        told = failures.describe(value, trace)
        self.rank.emit(told)
        if told.communication:  # the collective in which it lost its peers shows who was in another one
            flight_recorder.report(self.rank, wait_seconds=FLIGHT_SECONDS)
        self.rank.drain(EXCEPTION_SECONDS)

    def _tell_printed(self, code: Optional[int]) -> None:
        """A script may print its exception itself and then end with a code."""
        if code and self.told is None and self._printed is not None:
            self.tell(self._printed, self._printed.__traceback__)

    def at_exit(self) -> None:
        """The interpreter ends. If the script replaced our hook, an exception may not have been reported yet."""
        last = getattr(sys, "last_value", None)
        if last is not None and last is not self.told and last is not self._printed:
            self.tell(last, getattr(sys, "last_traceback", None))
        self._tell_printed(self.rank.exit_code)
        code = 1 if self.told is not None else self.rank.exit_code
        guard.guarded(self.end)(0 if code is None else code)

    def end(self, code: Optional[int]) -> None:
        """Writes `end` and the last beat, and lets the heartbeat thread go."""
        rank = self.rank
        if self.ended or not rank.is_here:
            return
        self.ended = True
        rank.release()
        rank.loss_came(None)
        if code == 0:
            rank.reach("done")
        from allranks.core.rank_events import End

        rank.emit(End(code=code))
        rank.stopping = True
        rank.drain(END_SECONDS)


def ends_the_program() -> bool:
    """Whether sys.excepthook was called because the program ends. Then nothing of the program is left below it. A
    script, or an extension in C, may call it only to print an exception, also in another thread."""
    if threading.current_thread() is not threading.main_thread():
        return False
    frame = sys._getframe()
    while frame.f_back is not None:
        frame = frame.f_back
    return frame.f_code.co_name not in PROGRAM


def code_of(status: Any) -> Optional[int]:
    """The code a process ends with when sys.exit is given this (a text is printed and means 1)."""
    if status is None:
        return 0
    return status & 0xFF if isinstance(status, int) else 1
