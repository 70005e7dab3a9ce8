"""How a family reports the facts that it read: values and reasons are sent one by one, so that a hang loses only
one."""

from __future__ import annotations

from typing import Any, Callable, Dict, Optional, Set


class Unreadable(Exception):
    """A fact that could not be read; its text is the reason that is in `Facts.unreadable`."""


class Reading:
    """The facts of one family on their way to the parent process."""

    def __init__(self, send: Callable[[Dict[str, Any]], None]):
        self._send = send
        self.missed: Set[str] = set()

    def put(self, fact: str, value: Any) -> None:
        self._send({"fact": fact, "value": value})

    def miss(self, fact: str, reason: str) -> None:
        self.missed.add(fact)
        self._send({"fact": fact, "reason": reason})

    def fact(self, fact: str, function: Callable[..., Any], *arguments: Any) -> Optional[Any]:
        """Stores what `function` returns, or why it could not; returns the value, None if there is none."""
        value = self.source(fact, function, *arguments)
        if value is not None or fact not in self.missed:
            self.put(fact, value)
        return value

    def source(self, fact: str, function: Callable[..., Any], *arguments: Any) -> Optional[Any]:
        """As `fact`, but only returns the value: what several facts are then parsed from."""
        self._send({"begin": fact})
        try:
            return function(*arguments)
        except Exception as error:  # any error that a node's files or programs cause is a reason
            self.miss(fact, why(error))
            return None


def why(error: BaseException) -> str:
    """One line: the reason of an `Unreadable`, errno's text with its path, or the error's type and text."""
    if isinstance(error, Unreadable):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror)
    return f"{type(error).__name__}: {error}"
