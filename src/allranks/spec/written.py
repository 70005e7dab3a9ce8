"""A run file's tree as YAML that reads back as the same: what `--save-as` writes."""

from __future__ import annotations

from allranks.spec.pasted import protected
from allranks.spec.start import flow, quoted
from allranks.spec.tree import Scalar, Sequence, Table, Tree


def yaml_text(tree: Table) -> str:
    """The run file, one key per line; lists and what is deeper than a section are in brackets."""
    lines: list[str] = []
    for name, entry in tree.entries.items():
        node = entry.node
        if isinstance(node, Table) and node.entries:
            lines.append(f"{quoted(name)}:")
            for below, inner in node.entries.items():
                is_command = (name, below) == ("train", "command")
                lines += section(below, inner.node, is_command)
        else:
            lines.append(f"{quoted(name)}: {flow(node)}")
    return "\n".join(lines) + "\n"


def section(name: str, node: Tree, is_command: bool) -> list[str]:
    if name == "llamafactory" and isinstance(node, Table):
        return [
            f"  {name}:",
            *(f"    {quoted(key)}: {flow(entry.node)}" for key, entry in node.entries.items()),
        ]
    if is_command and isinstance(node, Sequence):
        words = [item.raw if isinstance(item, Scalar) else "" for item in node.items]
        return [f"  {name}: [{', '.join(quoted(protected(word)) for word in words)}]"]
    return [f"  {quoted(name)}: {flow(node)}"]
