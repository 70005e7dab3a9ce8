"""LLaMA-Factory's arguments as the YAML file that it reads itself.

Two readers meet here. The run file follows YAML 1.2 (`spec/tree.py`). LLaMA-Factory reads its file by YAML 1.1:
0.9.3 with PyYAML, 0.9.5 with OmegaConf, which also takes `1e-5` as a number (`hparams/parser.py`). So the scalars of a
LLaMA-Factory YAML are handed on as they were written, and other values in a form that all of these readers read alike.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from allranks.spec.tree import Scalar, Sequence, Table, Tree

PLAIN = re.compile(r"[A-Za-z/][A-Za-z0-9_./-]*")
"""Text that needs no quotes, unless it is one of MEANT."""

MEANT = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null"))
"""Words, in lower case, that a YAML reader may take for something else than text."""

FALSE = frozenset(("n", "no", "off", "f", "false", "0"))
"""Words, in lower case, that LLaMA-Factory's readers take for false: YAML 1.1, or argparse in a command."""

WRITTEN = re.compile(r"[-+]?\.?[A-Za-z0-9_](?:[A-Za-z0-9_.+:-]*[A-Za-z0-9_.+-])?")
"""A scalar without quotes that may be copied to any place of a YAML as it is."""


def is_on(value: Any) -> bool:
    """Whether LLaMA-Factory takes this value of a switch for true. `no` and `off` are texts in YAML 1.2."""
    return value.lower() not in FALSE and value != "" if isinstance(value, str) else bool(value)


def as_written(node: Tree, source: str | None) -> str:
    """The text of a value of the run file, or of `source`, LLaMA-Factory's own YAML.

    Numbers of the run file keep the value that YAML 1.2 gives them. Its text is copied: `bf16: no` is false for
    LLaMA-Factory, and the text `"no"` would count as true."""
    if isinstance(node, Table):
        pairs = (f"{text(key)}: {as_written(entry.node, source)}" for key, entry in node.entries.items())
        return "{" + ", ".join(pairs) + "}"
    if isinstance(node, Sequence):
        return "[" + ", ".join(as_written(item, source) for item in node.items) + "]"
    is_copied = node.file == source or isinstance(node.value, str)
    if isinstance(node, Scalar) and node.plain and is_copied and WRITTEN.fullmatch(node.raw):
        return node.raw
    return text(node.value)


def text(value: Any) -> str:
    """A value in one line that YAML 1.1 and 1.2 read as the same value. ASCII alone: 0.9.3 reads its file in the
    node's encoding."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return number(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{text(str(key))}: {text(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(text(one) for one in value) + "]"
    return quoted(str(value))


def number(value: float) -> str:
    """YAML 1.1 wants a point in a number with an exponent: `1.0e-05`."""
    if value != value:
        return ".nan"
    if value in (float("inf"), float("-inf")):
        return ".inf" if value > 0 else "-.inf"
    digits, exponent, power = repr(value).partition("e")
    return f"{digits}{'' if '.' in digits else '.0'}{exponent}{power}"


def quoted(value: str) -> str:
    if PLAIN.fullmatch(value) and value.lower() not in MEANT:
        return value
    return '"' + "".join(letter(one) for one in value) + '"'


def letter(one: str) -> str:
    if one in '"\\':
        return "\\" + one
    if " " <= one <= "~":
        return one
    code = ord(one)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
