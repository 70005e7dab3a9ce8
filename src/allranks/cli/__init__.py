"""The command line: one file per verb in `verbs/`, found by its name. Heavy imports stay inside the verb."""

from __future__ import annotations

import argparse
import contextlib
import difflib
import errno
import importlib
import io
import os
import pkgutil
import re
import sys
from collections.abc import Sequence

from allranks import __version__
from allranks.cli import completion
from allranks.core.errors import AllranksError, BadInput, Blocked, Problem

ORDER = ("init", "check", "probe", "plan", "run", "ps", "watch", "logs", "stop", "diagnose", "checkpoints")
"""The order of the verbs in the help: that of a run's life. All other verbs come after them."""

EPILOG = """exit codes: 0 fine, 1 an error was found or the run failed, 2 bad input, 3 unknown, 4 a bug in allranks.
`allranks init` writes a run file; `allranks run FILE` does the rest, or `allranks run -- torchrun train.py`."""


def verb_names() -> list[str]:
    """The names of all verbs."""
    from allranks.cli import verbs

    names = [m.name.replace("_", "-") for m in pkgutil.iter_modules(verbs.__path__)]
    return sorted(names, key=lambda name: (ORDER.index(name) if name in ORDER else len(ORDER), name))


def verb_module(name: str):
    return importlib.import_module("allranks.cli.verbs." + name.replace("-", "_"))


UNKNOWN_VERB = re.compile(r"argument VERB: invalid choice: '(.*?)' \(choose from")


def no_verb(word: str) -> Problem:
    """The error for a verb that does not exist, with the nearest one."""
    near = difflib.get_close_matches(word, verb_names(), n=1)
    do = f"allranks {near[0]}" if near else "allranks --help lists the verbs"
    return Problem(f"{word} is not a verb of allranks", do=do)


class Parser(argparse.ArgumentParser):
    """Treats an error of usage like any other bad input: exit code 2, and one JSON document if --json was given."""

    as_json = False
    hint = ""

    def error(self, message: str):
        if wrong := UNKNOWN_VERB.match(message):
            self.exit(say_error(BadInput(no_verb(wrong[1])), self.as_json))
        message += self.hint if message.startswith("unrecognized") else ""
        if self.as_json:
            self.exit(say_error(BadInput(Problem(message, do=f"{self.prog} --help")), True))
        self.print_usage(sys.stderr)
        self.exit(2, f"{self.prog}: {message}\n")


def build_parser(only: str = "") -> argparse.ArgumentParser:
    """The parser of all verbs, or of one, which is built in a third of the time."""
    parser = Parser(
        prog="allranks",
        description="Start a training run on many machines, watch every rank, keep the adapter.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"allranks {__version__}")
    parser.add_argument(
        "--print-completion", choices=completion.SHELLS, help="print a completion script for this shell"
    )
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", parser_class=Parser)
    for name in [only] if only else verb_names():
        module = verb_module(name)
        summary = (module.__doc__ or name).strip().splitlines()[0].rstrip(".")
        child = verbs.add_parser(
            name,
            help=summary[0].lower() + summary[1:],
            description=module.__doc__,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.arguments(child)
        child.set_defaults(call=module.call, parser=child)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """The entry point of the command line. Prints every AllranksError and returns its exit code."""
    if "_ARGCOMPLETE" in os.environ:
        completion.answer(build_parser())
    if isinstance(sys.stdout, io.TextIOWrapper):  # a log may hold what this terminal's encoding does not
        sys.stdout.reconfigure(errors="backslashreplace")
    words = sys.argv[1:] if argv is None else list(argv)
    words, command = split_command(words)
    # Set on the class: the error may come from a verb's own parser, and before there are options to look at.
    Parser.as_json = "--json" in words
    Parser.hint = ". The command comes after --" if takes_command(words) else ""
    try:
        first = words[0] if words else ""
        parser = build_parser(first if first in verb_names() else "")
        options, rest = parser.parse_known_args(words)
        if rest:
            getattr(options, "parser", parser).error(unrecognized(options, words, rest))
        options.command = command
        code = called(parser, options)
        if sys.stdout is not None:  # it is closed under some service managers
            sys.stdout.flush()
    except BrokenPipeError:
        # The reader (head, less) has gone: there is nothing left to print, and Python must not print an error at
        # exit.
        drop_output()
        return 1
    except OSError as error:
        if not is_of_output(error):
            raise
        drop_output()
        print(f"the output cannot be written: {error.strerror or error}", file=sys.stderr)
        return 1
    return code


def drop_output() -> None:
    """Drops all further output."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def is_of_output(error: Exception) -> bool:
    """Whether standard output raised this error: the same happens to an empty line."""
    if not isinstance(error, OSError) or error.filename is not None:
        return False
    if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO):
        return False
    try:
        print(flush=True)
    except OSError:
        return True
    return False


def split_command(words: Sequence[str]) -> tuple[Sequence[str], Sequence[str] | None]:
    """The words for allranks, and the words of another program after `--`; None if there is no `--`."""
    if "--" not in words or not takes_command(words):
        return words, None
    at = words.index("--")
    return words[:at], words[at + 1 :]


def takes_command(words: Sequence[str]) -> bool:
    """Whether the verb takes a command after `--` (its module's `TAKES_COMMAND`). Those words belong to another
    program. argparse does not see them, because it would look for allranks' options in them; they are in
    `options.command`."""
    verb = next((word for word in words if not word.startswith("-")), "")
    return verb in verb_names() and getattr(verb_module(verb), "TAKES_COMMAND", False)


def unrecognized(options: argparse.Namespace, words: Sequence[str], rest: Sequence[str]) -> str:
    """The error about words that no option takes. If there is a command among them, the error says that `--` must
    come before it."""
    said = f"unrecognized arguments: {' '.join(rest)}"
    named = getattr(options, "file", None)
    if takes_command(words) and named and not named.endswith((".yaml", ".yml")):
        import shlex

        command = shlex.join(words[words.index(named) :])
        return f"{said}\nA training command comes after `--`: allranks {options.verb} -- {command}"
    return said


def called(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    """The verb's exit code. Prints every error, and returns its exit code; raises the errors of standard output."""
    if options.print_completion:
        print(completion.script(options.print_completion))
        return 0
    if options.verb is None:
        parser.print_help()
        return 2
    as_json = getattr(options, "json", False)
    try:
        if getattr(options, "asked_nodes", None) is not None:
            from allranks.cli.common import known_from_nodes

            known_from_nodes(options)
        return options.call(options)
    except AllranksError as error:
        return say_error(error, as_json)
    except KeyboardInterrupt:
        if as_json:
            return say_error(Blocked("aborted"), True)
        print("\naborted.", file=sys.stderr)
        return 1
    except BrokenPipeError:
        raise
    except Exception as error:
        if is_of_output(error):
            raise
        return say_fault(error, as_json)


def say_fault(error: Exception, as_json: bool) -> int:
    """Prints the traceback of an unforeseen exception, which is a bug in allranks, for the person who fixes it."""
    import traceback

    from allranks.core.text import spelt_out

    # A message may contain text from a node, so it is data here, too, line by line.
    for line in "".join(traceback.format_exception(error)).splitlines():
        print(spelt_out(line), file=sys.stderr)
    return say_error(AllranksError(f"a bug in allranks: {type(error).__name__}: {error}"), as_json)


def say_error(error: AllranksError, as_json: bool) -> int:
    """With --json, prints one document on stdout; otherwise plain text on stderr. A node that could not be reached has
    its fix."""
    fix = getattr(error, "fix", "")
    if as_json:
        import json

        problems = error.problems if isinstance(error, BadInput) else [Problem(str(error), do=fix)]
        print(json.dumps({"error": str(error), "problems": [p.as_json() for p in problems]}, indent=2))
    else:
        from allranks.core.text import spelt_out

        print(spelt_out(str(error)), file=sys.stderr)
        if fix:
            print(spelt_out(f"  fix  {fix}"), file=sys.stderr)
    return error.exit_code
