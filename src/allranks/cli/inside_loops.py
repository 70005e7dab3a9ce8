"""Runs coroutines for a caller who may be in an event loop already, as in a notebook."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from contextlib import aclosing
from typing import Any, TypeVar

Answer = TypeVar("Answer")

WAITING = 1024
"""The most items that a caller may be behind: a journal may have gigabytes."""

ROOM_SECONDS = 0.01


def done(work: Coroutine[Any, Any, Answer]) -> Answer:
    """The answer of a coroutine. If a loop runs in this thread, another thread runs the coroutine; an interrupt
    cancels it and waits for it."""
    if not is_in_loop():
        return asyncio.run(work)
    begun: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]]] = []

    async def told() -> Answer:
        task = asyncio.current_task()
        assert task is not None
        begun.append((asyncio.get_running_loop(), task))
        return await work

    def cancel() -> None:
        for loop, task in begun:
            loop.call_soon_threadsafe(task.cancel)

    return apart(lambda: asyncio.run(told()), cancel)


def is_in_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def apart(work: Callable[[], Answer], cancel: Callable[[], None] = lambda: None) -> Answer:
    """What `work` returns or raises; in its own thread if an event loop runs in this one."""
    if not is_in_loop():
        return work()
    said: list[Answer] = []
    failed: list[BaseException] = []

    def do() -> None:
        try:
            said.append(work())
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=do, name="allranks", daemon=True)
    thread.start()
    try:
        thread.join()
    except KeyboardInterrupt:
        cancel()
        thread.join()
        raise
    if failed:
        raise failed[0]
    return said[0]


def each(make: Callable[[], AsyncGenerator[Answer, None]]) -> Iterator[Answer]:
    """The items of an asynchronous generator, which works in its own thread and ends with this one. It waits if the
    caller is `WAITING` items behind."""
    box: queue.SimpleQueue[tuple[Answer | None, BaseException | None, bool]] = queue.SimpleQueue()
    room = threading.Semaphore(WAITING)
    begun: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]]] = []

    async def feed() -> None:
        task = asyncio.current_task()
        assert task is not None
        begun.append((asyncio.get_running_loop(), task))
        async with aclosing(make()) as items:
            async for item in items:
                while not room.acquire(blocking=False):  # a wait that blocks could not be cancelled
                    await asyncio.sleep(ROOM_SECONDS)
                box.put((item, None, False))

    def work() -> None:
        try:
            asyncio.run(feed())
        except asyncio.CancelledError:
            pass
        except BaseException as error:
            box.put((None, error, True))
        box.put((None, None, True))

    thread = threading.Thread(target=work, name="allranks-watch", daemon=True)
    thread.start()
    try:
        while True:
            item, error, is_last = box.get()
            if error is not None:
                raise error
            if is_last:
                return
            room.release()
            yield item  # type: ignore[misc]
    finally:
        for loop, task in begun:
            if thread.is_alive():
                loop.call_soon_threadsafe(task.cancel)
        thread.join(5.0)
