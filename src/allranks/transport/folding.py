"""The output of many nodes, folded: equal output once, with the nodes that printed it; the different ones by name."""

from __future__ import annotations

from collections.abc import Iterable

from allranks.core.text import fold


def folded(said: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """(node, text) pairs → (`node[1-30]`, text), each text once, in the order in which it was first said."""
    groups: dict[str, dict[str, None]] = {}
    for node, text in said:
        groups.setdefault(text, {}).setdefault(node)
    return [(fold(nodes), text) for text, nodes in groups.items()]
