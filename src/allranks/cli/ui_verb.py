"""`allranks ui`: serves the live page until Ctrl-C."""

from __future__ import annotations

import argparse
import asyncio
import signal
import socket
import sys
import tempfile
import webbrowser
from pathlib import Path

from allranks.core import BadInput, Problem
from allranks.output.live_page.access import Guard, new_token
from allranks.output.live_page.application import Page, application
from allranks.runs import index

PORT = 9470
HERE = "127.0.0.1"
END_SECONDS = 1
"""Time for open connections at Ctrl-C: the page's own connections never end by themselves."""


def ui_command(options: argparse.Namespace) -> int:
    try:
        asyncio.run(serve(options))
    except KeyboardInterrupt:
        pass
    return 0


async def serve(options: argparse.Namespace) -> None:
    import uvicorn

    first = await index.find(options.run) if options.run is not None else None
    listening = listen(options.port)
    port, token = listening.getsockname()[1], new_token()
    page = Page(may_stop=not options.read_only, first=first)
    config = uvicorn.Config(
        Guard(application(page), token, port),
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="off",
        ws="none",
        http="h11",
        loop="asyncio",
        timeout_graceful_shutdown=END_SECONDS,
    )
    address = f"http://{HERE}:{port}/{token}/"
    # On stdout and flushed, so that a program that starts the page can read its address.
    print(address, flush=True)
    print(
        "Keep this address to yourself: whoever has it can read your runs. Ctrl-C ends the page.",
        file=sys.stderr,
    )
    # uvicorn ends the page and then raises the signal again: it must not end the process before the folder is removed.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    with tempfile.TemporaryDirectory(prefix="allranks-ui-") as folder:
        if options.open:
            open_page(Path(folder), address)
        try:
            await uvicorn.Server(config).serve(sockets=[listening])
        finally:
            await page.close()


def listen(wanted: int | None) -> socket.socket:
    """A socket on 127.0.0.1. Raises BadInput if the requested port is not available."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((HERE, wanted or PORT))
    except OSError as error:
        if wanted is not None:
            listening.close()
            why = f"{HERE}:{wanted} cannot be listened on: {error.strerror}"
            raise BadInput(Problem(why, do="--port with another port, or none")) from None
        listening.bind((HERE, 0))
    listening.listen(128)
    return listening


def open_page(folder: Path, address: str) -> None:
    """Opens the page through a file that only this user can read, because all users can see the browser's command
    line."""
    folder.chmod(0o700)
    file = folder / "open.html"
    file.write_text(f'<!doctype html><meta http-equiv="refresh" content="0;url={address}">', encoding="utf-8")
    if not webbrowser.open(file.as_uri()):
        print("No browser could be started here: open the address above.", file=sys.stderr)
