"""The parts of a script that mean its own folder, and the files that it writes."""

from __future__ import annotations

import posixpath
import re

from allranks.spec.shell import Statement

OWN_FOLDER = re.compile(
    r"""\$\(\s*(?:cd\s+(?:--\s+)?["']?)?(?:(?:\$\(|`)\s*)?dirname\s+(?:--\s+)?["']?(?:\$\(readlink -f )?["']?"""
    r"""\$\{?(?:0|BASH_SOURCE)(?:\[0\])?\}?["')]*`?((?:/\.\.)*)/?["']?(?:\s*(?:&&|;)\s*pwd(?:\s+-P)?)?\s*\)?"""
)
"""`$(cd "$(dirname "$0")/.." && pwd)` and its like: the script's own folder."""


def own_folders(found: list[Statement], folder: str) -> dict[str, str | list[str] | None]:
    """Each `$(…)` of a script that means its own folder, with that folder."""
    parts = [part for one in found for word in one.words for part in word.parts if part.kind == "opaque"]
    matches = {part.text: OWN_FOLDER.fullmatch(part.text) for part in parts}
    return {
        text: posixpath.normpath(folder + match.group(1))
        for text, match in matches.items()
        if match is not None
    }


def files_written(redirections: list[str]) -> list[str]:
    """The files that redirections write to, without devices."""
    targets = [one.lstrip("0123456789&>|") for one in redirections if ">" in one and ">&" not in one]
    return [one for one in targets if one and not one.startswith("/dev/")]
