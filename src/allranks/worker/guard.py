"""Nothing in `worker` may break the training: a failure is remembered and told in the next beat, and that is all."""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # typing costs a start 5 ms; type checkers take this for theirs
if TYPE_CHECKING:
    from typing import Any, Callable, List

TROUBLE: List[str] = []
"""Failures in allranks' own code, at most MOST entries; `heartbeat.beat` takes it from here."""

MOST = 8


def note(where: str, error: BaseException) -> None:
    """Remembers one failure of allranks."""
    if len(TROUBLE) < MOST:
        try:
            text = f"{where}: {type(error).__name__}: {error}"[:300]
        except Exception:
            text = f"{where}: {type(error).__name__}"
        if text not in TROUBLE:
            TROUBLE.append(text)


def guarded(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, which returns None if it would have raised. KeyboardInterrupt is the user's and passes."""

    def quiet(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            note(function.__name__, error)
            return None

    quiet.__name__ = function.__name__
    quiet.__doc__ = function.__doc__
    return quiet


def nothing(*_: Any) -> None:
    """The default of `around`."""


def around(
    original: Callable[..., Any], before: Callable[..., Any] = nothing, after: Callable[..., Any] = nothing
) -> Callable[..., Any]:
    """`original` with two guarded calls around it: `before(args, kwargs)` and `after(what before gave)`.

    The original's result or exception passes through unchanged. The wrapper has its name, signature and help.
    """
    before, after = guarded(before), guarded(after)

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        kept = before(args, kwargs)
        try:
            return original(*args, **kwargs)
        finally:
            after(kept)

    return dressed(wrapped, original)


def dressed(wrapper: Callable[..., Any], original: Callable[..., Any]) -> Callable[..., Any]:
    """`wrapper` with the name, help and signature of `original` (libraries ask `inspect.signature`)."""
    for name in ("__module__", "__name__", "__qualname__", "__doc__"):
        try:
            setattr(wrapper, name, getattr(original, name))
        except AttributeError:
            pass  # a callable without names
    wrapper.__dict__.update(getattr(original, "__dict__", {}))
    setattr(wrapper, "__wrapped__", original)  # noqa: B010  (pyright knows no such attribute of a function)
    return wrapper


def not_compiled(wrapper: Callable[..., Any]) -> Callable[..., Any]:
    """`wrapper`, whose own frame dynamo runs as it is; it still traces through where it is a part of a graph.

    dynamo knows torch's own functions by their folder and leaves them out. A frame of allranks would be compiled after
    each graph break, and again for each group or model."""
    native = getattr(getattr(loaded("torch"), "_C", None), "_dynamo", None)
    skip = getattr(getattr(native, "eval_frame", None), "skip_code", None)
    if skip is not None:
        skip(wrapper.__code__)
    return wrapper


def loaded(name: str) -> Any:
    """A module that the script has imported already, else None. Never imports anything."""
    return sys.modules.get(name)
