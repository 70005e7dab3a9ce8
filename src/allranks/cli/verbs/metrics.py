"""Serve metrics of runs to Prometheus, write them for the node exporter, or send them by OTLP.

The nodes open no port: the values come from the runs' journals, as `allranks watch` reads them. It follows all
runs that have not ended, or the runs that you name. --dashboard prints the dashboard for Grafana.
"""

from __future__ import annotations

import argparse

from allranks.cli.common import above_zero, tcp_port


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "runs", nargs="*", metavar="RUN", help="a run's id; all that have not ended if none is named"
    )
    parser.add_argument(
        "--port", type=tcp_port, default=9464, metavar="PORT", help="the port to listen on (9464)"
    )
    parser.add_argument(
        "--address", default="127.0.0.1", metavar="ADDRESS", help="the address to listen on (127.0.0.1)"
    )
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument("--textfile", metavar="FILE", help="write FILE for the node exporter; open no port")
    instead.add_argument(
        "--otlp", metavar="URL", help="send to this OpenTelemetry Collector by OTLP over HTTP; open no port"
    )
    parser.add_argument(
        "--every",
        type=above_zero,
        default=15.0,
        metavar="SECONDS",
        help="seconds between two looks for new runs, and between two files or messages (15)",
    )
    parser.add_argument("--once", action="store_true", help="print the metrics as they are now, and end")
    parser.add_argument("--dashboard", action="store_true", help="print a dashboard for Grafana, and end")


def call(options: argparse.Namespace) -> int:
    if options.dashboard:
        from importlib import resources

        print(resources.files("allranks.output").joinpath("grafana.json").read_text(encoding="utf-8"), end="")
        return 0
    from allranks.cli.metrics_verb import metrics_command

    return metrics_command(options)
