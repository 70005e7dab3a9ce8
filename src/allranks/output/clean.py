"""Text from nodes and logs, made safe to print: what a terminal would obey is shown, not sent."""

from __future__ import annotations

from allranks.output.report_text import spelt_out


def clean(text: str) -> str:
    """Control and format characters as `\\x1b` or `\\u202e`; newline and tab stay as they are."""
    return spelt_out(text)
