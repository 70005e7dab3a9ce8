"""The command line: one file a verb in `verbs/`, found by its name. Heavy imports stay inside the verb."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import pkgutil
import sys
from collections.abc import Sequence

from allranks import __version__
from allranks.words.errors import AllranksError, BadInput, Problem

ORDER = ("init", "check", "probe", "plan", "run", "ps", "watch", "logs", "stop", "diagnose", "checkpoints")
"""How the help lists the verbs: in the order of a run's life; any other verb comes after them."""

EPILOG = """exit codes: 0 fine, 1 blocked or the run failed, 2 bad input, 3 could not tell, 4 a fault of allranks.
`allranks init` writes a run file; `allranks run FILE` does the rest."""


def verb_names() -> list[str]:
    """The verbs there are."""
    from allranks.cli import verbs

    names = [m.name.replace("_", "-") for m in pkgutil.iter_modules(verbs.__path__)]
    return sorted(names, key=lambda name: (ORDER.index(name) if name in ORDER else len(ORDER), name))


def verb_module(name: str):
    return importlib.import_module("allranks.cli.verbs." + name.replace("-", "_"))


class Parser(argparse.ArgumentParser):
    """An error of usage is bad input like any other: exit code 2, with the nearest right word."""

    def error(self, message: str):
        self.print_usage(sys.stderr)
        self.exit(2, f"{self.prog}: {message}\n")


def build_parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="allranks",
        description="Start a training run on many machines, watch every rank, keep the adapter.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"allranks {__version__}")
    parser.add_argument(
        "--print-completion", choices=("bash", "zsh", "tcsh"), help="print a completion script for this shell"
    )
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", parser_class=Parser)
    for name in verb_names():
        module = verb_module(name)
        summary = (module.__doc__ or name).strip().splitlines()[0].rstrip(".")
        child = verbs.add_parser(
            name,
            help=summary[0].lower() + summary[1:],
            description=module.__doc__,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.arguments(child)
        child.set_defaults(call=module.call)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """The command line's entry. Every error of ours ends here as its text and its exit code."""
    parser = build_parser()
    options = parser.parse_args(argv)
    if options.print_completion:
        import shtab

        print(shtab.complete(parser, shell=options.print_completion))
        return 0
    if options.verb is None:
        parser.print_help()
        return 2
    try:
        return options.call(options)
    except AllranksError as error:
        return say_error(error, getattr(options, "json", False))
    except KeyboardInterrupt:
        print("\naborted.", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # The reader (head, less) has gone: nothing is left to say, and Python must not say it at exit.
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def say_error(error: AllranksError, as_json: bool) -> int:
    """One document on stdout with --json, plain text on stderr without."""
    if as_json:
        import json

        problems = error.problems if isinstance(error, BadInput) else [Problem(str(error))]
        print(json.dumps({"error": str(error), "problems": [p.as_json() for p in problems]}, indent=2))
    else:
        from allranks.faces.clean import clean

        print(clean(str(error)), file=sys.stderr)
    return error.exit_code
