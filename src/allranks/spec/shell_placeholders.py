"""Values that a script leaves to its user: `<YOUR_PATH>`."""

from __future__ import annotations

import re

from allranks.spec.problems import Wrong, shown
from allranks.spec.shell import Statement


def refuse_placeholder(statement: Statement) -> None:
    """`--output_dir <OUTPUT_DIR> --lr 1`: a shell would read one file and write another."""
    if statement.placeholder is not None:
        raise Wrong(
            f"line {statement.line}: {shown(statement.placeholder)} is a placeholder.",
            "a shell would read a file of that name.",
            "its value in place of it",
        )
    for one in statement.redirections:
        if re.match(r">{1,2}--", one):
            raise Wrong(
                f"line {statement.line}: {shown(one)} has no value before it, only a `>`.",
                "a shell would write a file of that name.",
                "the value in place of the text that ends with `>`",
            )
