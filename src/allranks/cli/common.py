"""What several verbs share: options, JSON on stdout, the question before something is changed."""

from __future__ import annotations

import argparse
import json
import math
import sys
from typing import Any


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON document and nothing else")


def add_file(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the run file")
    parser.add_argument(
        "--set",
        dest="sets",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="change one key of the run file, e.g. train.llamafactory.max_steps=50",
    )
    parser.add_argument(
        "--accept", action="append", default=[], metavar="ID", help="let this known finding pass"
    )


def print_json(data: Any) -> None:
    """One document. What is no number in JSON (NaN, infinity) becomes null."""
    print(json.dumps(finite(data), indent=2, default=str, allow_nan=False))


def finite(data: Any) -> Any:
    if isinstance(data, float):
        return data if math.isfinite(data) else None
    if isinstance(data, dict):
        return {str(key): finite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [finite(value) for value in data]
    return data


def agreed(question: str, yes: bool) -> bool:
    """Asks on a terminal; elsewhere only `-y` is a yes."""
    if yes:
        return True
    if not sys.stdin.isatty():
        print(f"{question}: not done, since nobody can be asked here. -y says yes.", file=sys.stderr)
        return False
    return input(f"{question} [y/N] ").strip().lower() in ("y", "yes")
