"""Hostfiles of DeepSpeed and MPI: `node1 slots=8 ib0 NCCL_DEBUG=INFO # comment`.

A line names one host (or a range of them), then in any order: its slots (`slots=`; OpenMPI's `cpu=`,
`count=`; or the bare number), OpenMPI's `max_slots=`, a network interface without a name, variables of that host.
"""

from __future__ import annotations

import re
import shlex

from allranks.core import BadInput, Cluster
from allranks.spec import validate
from allranks.spec.drafts import Draft, from_text, make_cluster
from allranks.spec.hosts_table import read_table
from allranks.spec.problems import Problems, Wrong, nearest, shown
from allranks.spec.reading import MAX_GPUS, Reading
from allranks.spec.tree import Scalar

SLOTS = ("slots", "cpu", "cpus", "count")
LIMITS = ("max_slots", "max-slots", "slots_max")
USERS = ("username", "user-name", "user")
COMMENT = re.compile(r"(^|\s)#.*")
SPACED = re.compile(rf"(?<=\s)({'|'.join((*SLOTS, *LIMITS, *USERS))})\s*=\s*(?=\S)")
"""OpenMPI takes `slots = 8`."""


def cluster_from_hostfile(text: str, file: str = "hostfile", gpus: int = 1) -> Cluster:
    """The nodes of a hostfile; `gpus` is the number of ranks if a line names no slots.

    Raises BadInput with every line that cannot be read; `file` is what messages call it.
    """
    reading = Reading(file, Problems())
    drafts = read_hostfile(text, file, reading)
    cluster = make_cluster(drafts, reading, gpus, same_host=False)
    if reading.problems.found:
        raise BadInput(reading.problems.all())
    return cluster


def read_hostfile(text: str, file: str, reading: Reading) -> list[Draft]:
    """The drafts of a hostfile's lines, or of a CSV's rows; what is wrong goes to `reading`."""
    table = read_table(text, file, reading)
    if table is not None:
        return table
    drafts: list[Draft] = []
    before = len(reading.problems.found)
    for number, line in enumerate(text.split("\n"), 1):
        at = Scalar(file, number, line, line)
        try:
            drafts += read_line(line, at)
        except Wrong as wrong:
            reading.wrong(at, wrong.saw, wrong.why, wrong.do)
    if not drafts and len(reading.problems.found) == before:
        reading.problems.add("it has no host.", "a run needs a machine.", "node1 slots=8", file)
    return drafts


def read_line(line: str, at: Scalar) -> list[Draft]:
    words = split_line(line)
    if not words:
        return []
    if re.fullmatch(r"[^:=]+:[0-9]{1,5}", words[0]):
        host, _, count = words[0].partition(":")
        raise Wrong(
            f"{shown(words[0])}: the number after the colon could be slots (MPICH) or a port.",
            do=f"{shown(host)} slots={count}, or {{name: {shown(host)}, port: {count}}} in the run file",
        )
    table = re.fullmatch(r"([^,;]+)[,;]([0-9]{1,4})([,;].*)?", words[0])
    if table and not table[1].isdigit():
        raise Wrong(
            f"{shown(words[0])}: this looks like CSV without a line that names the columns.",
            do=f"{shown(table[1])} slots={table[2]}, or a first line such as host,gpus",
        )
    drafts = from_text(words[0], at)
    found: dict[str, str] = {}
    for word in words[1:]:
        read_word(word, found, drafts)
    slots = found.get("slots")
    limit = found.get("limit")
    if slots is None and limit is not None:
        raise Wrong(f"max_slots={limit} without slots.", "the number of ranks is not said.", f"slots={limit}")
    if slots is not None and limit is not None and int(slots) > int(limit):
        raise Wrong(f"slots={slots} is more than max_slots={limit}.", do=f"slots={limit}")
    for draft in drafts:
        draft.gpus = None if slots is None else int(slots)
        draft.interface = found.get("interface")
        draft.user = found.get("user") or draft.user
    return drafts


def split_line(line: str) -> list[str]:
    """The words of a line without its comment; quotes hold words together if there are any."""
    line = line.rstrip("\r")
    if '"' not in line and "'" not in line:
        return SPACED.sub(r"\1=", COMMENT.sub("", line)).split()
    try:
        lexer = shlex.shlex(line, posix=True)
        lexer.whitespace_split, lexer.commenters = True, ""
        words = list(lexer)
    except ValueError:
        raise Wrong("a quote is opened and never closed.", do='NAME="a value"') from None
    comment = next((i for i, word in enumerate(words) if word.startswith("#")), len(words))
    return words[:comment]


def read_word(word: str, found: dict[str, str], drafts: list[Draft]) -> None:
    name, equals, value = word.partition("=")
    if not equals:
        if word.isdigit():
            put(found, "slots", count(word, word), word)
            return
        put(found, "interface", validate.interface(word), word)
    elif name in SLOTS:
        put(found, "slots", count(word, value), word)
    elif name in LIMITS:
        put(found, "limit", count(word, value), word)
    elif name in USERS:
        put(found, "user", validate.user(value), word)
    else:
        near = nearest(name, (*SLOTS, *LIMITS, *USERS)) if name.islower() else None
        if near is not None:
            raise Wrong(
                f"{shown(name)}= is not a key of a hostfile.", "it would become a variable.", f"{near}="
            )
        validate.variable(name)
        try:
            validate.variable_value(name, value)
        except Wrong as wrong:
            raise Wrong(f"{name}: {wrong.saw}", wrong.why, wrong.do) from None
        put(found, "$" + name, value, name)
        for draft in drafts:
            draft.env = {**draft.env, name: value}


def put(found: dict[str, str], key: str, value: str, word: str) -> None:
    if key in found:
        raise Wrong(f"{shown(word)}: said twice in one line.", "one of the two would be lost.", "one of them")
    found[key] = value


def count(word: str, value: str) -> str:
    if not (value.isascii() and value.isdigit() and len(value) < 6 and 1 <= int(value) <= MAX_GPUS):
        raise Wrong(f"{shown(word)} is not a number of ranks.", f"1 to {MAX_GPUS:,} are possible.", "slots=8")
    return value
