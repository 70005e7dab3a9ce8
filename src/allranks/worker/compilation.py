"""The phase `compiling`, while dynamo and inductor compile or torch builds an operator.

A graph is compiled again in the middle of training where a shape is new, on one rank alone where only its batch is.
DeepSpeed builds its operators with torch's own function.
"""

from __future__ import annotations

from typing import Any, Callable, List, Tuple

from allranks.worker import guard, operators
from allranks.worker.rank_reporter import Rank

PHASE = "compiling"


def on_dynamo(rank: Rank, module: Any) -> None:
    """torch._dynamo.callback: its handler is asked at the outermost begin and end of each compilation. The class is
    covered, since `torch._dynamo.reset()` forgets what is registered."""
    handler = type(module.callback_handler)
    begin, end = short_phase(rank)
    handler.run_start_callbacks = guard.around(handler.run_start_callbacks, begin)
    handler.run_end_callbacks = guard.around(handler.run_end_callbacks, end)


def short_phase(rank: Rank) -> Tuple[Callable[..., None], Callable[..., None]]:
    """The functions that enter and leave the phase, which may be nested. Most phases take milliseconds, so that none
    gets its own beat."""
    entered: List[Tuple[str, float]] = []

    def begin(*_: Any) -> None:
        if rank.is_here:
            entered.append(rank.enter(PHASE, at_once=False))

    def end(*_: Any) -> None:
        if entered:
            rank.leave(entered.pop())

    return begin, end


def on_graphs(rank: Rank, module: Any) -> None:
    """torch.cuda.graphs: while a graph is recorded, a query of an event's state would spoil the graph."""
    graph = getattr(module, "CUDAGraph", None)
    if graph is None or not {"capture_begin", "capture_end"} <= vars(graph).keys():
        return  # those of C++ cannot be covered
    begin, end = short_phase(rank)
    graph.capture_begin = guard.around(graph.capture_begin, begin)
    graph.capture_end = guard.around(graph.capture_end, after=end)


def on_extensions(rank: Rank, module: Any) -> None:
    """torch.utils.cpp_extension: an operator is compiled, or the lock of another process that does is waited for."""

    def begin(args: Any, kwargs: Any) -> Any:
        if not rank.is_here:
            return None
        rank.operator = {"name": str(args[0] if args else kwargs.get("name"))[:100], "waits": False}
        return rank.enter(PHASE)

    def end(entered: Any) -> None:
        if entered is not None:
            rank.operator = None
            rank.leave(entered)

    for name in ("load", "load_inline"):
        original = getattr(module, name, None)
        if original is not None:
            setattr(module, name, guard.around(original, begin, end))
    baton = getattr(module, "FileBaton", None)
    if baton is not None:
        guard.guarded(operators.on_baton)(rank, baton)
