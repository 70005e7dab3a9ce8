"""A table of hosts in place of a hostfile: CSV whose first line names the columns.

host,gpus,rack
node1,8,r1
node2,8,r2
"""

from __future__ import annotations

import csv

from allranks.spec import validate
from allranks.spec.drafts import Draft, from_text
from allranks.spec.problems import Wrong, shown
from allranks.spec.reading import MAX_GPUS, Reading
from allranks.spec.tree import Scalar

NAMES = ("host", "hostname", "name", "node", "nodename")
ADDRESSES = ("address", "ip", "ip_address", "addr")
COLUMNS = {
    **dict.fromkeys(NAMES, "name"),
    **dict.fromkeys(ADDRESSES, "address"),
    **dict.fromkeys(("gpus", "gpu", "slots", "count", "num_gpus", "gpu_count", "ngpus"), "gpus"),
    **dict.fromkeys(("user", "username", "login"), "user"),
    **dict.fromkeys(("port", "ssh_port"), "port"),
    **dict.fromkeys(("interface", "ifname", "nic"), "interface"),
}
"""The meaning of each column heading. Any other column becomes a label of the node."""


def read_table(text: str, file: str, reading: Reading) -> list[Draft] | None:
    """The drafts of a table's rows. Errors go to `reading`. None if the text is not such a table."""
    lines = text.lstrip("\ufeff").splitlines()
    first = next((i for i, line in enumerate(lines) if line.strip() and not line.startswith("#")), None)
    if first is None:
        return None
    delimiter = next((mark for mark in ",;\t" if mark in lines[first]), None)
    if delimiter is None:
        return None
    try:
        headings = cells(lines[first], delimiter)
    except Wrong:
        return None
    meant = [COLUMNS.get(heading.lower().replace(" ", "_")) for heading in headings]
    if not {"name", "address"} & set(meant):
        return None
    drafts: list[Draft] = []
    for number, line in enumerate(lines[first + 1 :], first + 2):
        if not line.strip() or line.startswith("#"):
            continue
        at = Scalar(file, number, line, line)
        try:
            drafts += row(dict(zip(headings, cells(line, delimiter), strict=False)), headings, meant, at)
        except Wrong as wrong:
            reading.wrong(at, wrong.saw, wrong.why, wrong.do)
    if len(lines) > first and not drafts and not reading.problems.found:
        reading.problems.add(
            "there is no host below the headings.", "a run needs a machine.", "node1,8", file
        )
    return drafts


def cells(line: str, delimiter: str) -> list[str]:
    try:
        return [cell.strip() for cell in next(csv.reader([line], delimiter=delimiter, strict=True), [])]
    except csv.Error as error:
        raise Wrong(f"it cannot be read as CSV: {error}.", do="quote a cell that holds a comma") from None


def row(values: dict[str, str], headings: list[str], meant: list[str | None], at: Scalar) -> list[Draft]:
    told = {
        meaning: values[heading]
        for heading, meaning in zip(headings, meant, strict=True)
        if meaning and values.get(heading)
    }
    host = told.get("name") or told.get("address")
    if not host:
        raise Wrong("this row has no host.", do="node1")
    drafts = from_text(host, at)
    for draft in drafts:
        if "name" in told and "address" in told:
            draft.address = validate.host(told["address"])
        draft.gpus = number("gpus", told, MAX_GPUS)
        draft.port = number("port", told, 65_535)
        draft.user = validate.user(told["user"]) if "user" in told else draft.user
        draft.interface = validate.interface(told["interface"]) if "interface" in told else None
        draft.labels = {
            heading: validate.one_line(values[heading])
            for heading, meaning in zip(headings, meant, strict=True)
            if meaning is None and heading and values.get(heading)
        }
    return drafts


def number(name: str, told: dict[str, str], most: int) -> int | None:
    value = told.get(name)
    if value is None:
        return None
    if not (value.isascii() and value.isdigit() and len(value) < 6 and 1 <= int(value) <= most):
        raise Wrong(f"{name}: {shown(value)} is not a number from 1 to {most:,}.", do="8")
    return int(value)
