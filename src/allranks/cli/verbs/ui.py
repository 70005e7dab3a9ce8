"""Serve a live page of all runs, and of one run, to the browser on this machine.

The page is served only on 127.0.0.1, and only to browsers with its address, which holds a random token. The nodes
open no port: everything comes from the runs' journals and logs, as `allranks watch` reads them.
"""

from __future__ import annotations

import argparse

from allranks.cli.common import tcp_port


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "run",
        nargs="?",
        metavar="RUN",
        help="a run's id, the beginning of it, or its run file: the page begins with this run; default: all runs",
    )
    parser.add_argument(
        "--port",
        type=tcp_port,
        metavar="PORT",
        help="the port on 127.0.0.1 (9470, or a free one if it is taken)",
    )
    parser.add_argument("--read-only", action="store_true", help="a page that cannot stop a run")
    parser.add_argument("--open", action="store_true", help="open the page in the browser")


def call(options: argparse.Namespace) -> int:
    from allranks.cli.ui_verb import ui_command

    return ui_command(options)
