"""Print the JSON schema of a run file, for editors.

Put `# yaml-language-server: $schema=run-file.schema.json` into the first line of a run file, with
`allranks schema > run-file.schema.json` beside it: editors complete keys, show their meaning and mark errors.
"""

from __future__ import annotations

import argparse

from allranks.cli.common import add_json, print_json


def arguments(parser: argparse.ArgumentParser) -> None:
    add_json(parser)


def call(options: argparse.Namespace) -> int:
    from allranks import spec

    print_json(spec.json_schema())
    return 0
