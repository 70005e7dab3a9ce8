"""The page of an id: one form for every finding and every cause, parsed from the Markdown beside its code.

    A GPU of the run is in use.

    ## How it is found
    …
    ## Why it matters
    …
    ## What to do
    …
    ## Source
    …

    Topic: gpus

The paragraphs before the first heading are the section "What it means". A room may give `found`, `source` and `topic`
for all of its pages: they hold if a page has none. A docstring without headings is not a page.
"""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from typing import Dict, List

MEANS, FOUND, WHY, FIX, SOURCE = HEADINGS = (
    "What it means",
    "How it is found",
    "Why it matters",
    "What to do",
    "Source",
)

TOPICS = {
    "gpus": "GPUs and drivers",
    "network": "Network between nodes",
    "storage": "Storage, model and data",
    "software": "Software, environments and containers",
    "nodes": "Nodes: memory, processors, processes, clocks",
    "settings": "Settings: run file, variables, arguments",
    "plan": "Plan: memory, batch, adapters",
    "start": "Start: launcher, rendezvous, supervisors",
    "training": "Training: loss, data, speed, stalls",
    "ends": "End of a rank, a node or a run",
    "checkpoints": "Checkpoints: whole, damaged, pruned",
    "adapters": "Adapters: whole, damaged, wrong",
    "export": "Export of an adapter",
}
"""The topics of pages. A page names its key after `Topic:`; the text is the topic's title."""

_TOPIC = re.compile(r"(?<!\n)\n+Topic: *(\S+)\s*$")
_HEADING = re.compile(r"^## +(.+?) *$", re.MULTILINE)
_ITEM = re.compile(r" *(?:[-*|]|\d+\.) ")


class PageError(ValueError):
    """A text that is not a page: a heading is missing, unknown, empty, twice or in the wrong order."""


@dataclass(frozen=True)
class Page:
    """One id's page. `sections` has a text for each of `HEADINGS`, in Markdown."""

    id: str
    topic: str
    sections: Dict[str, str]

    @property
    def title(self) -> str:
        """The first paragraph of *What it means*, on one line and without its full stop."""
        return " ".join(self.sections[MEANS].split("\n\n")[0].split()).rstrip(".")

    def markdown(self, heading: str = "## {}\n") -> str:
        """The sections, each under `heading` filled in with its name."""
        parts = [heading.format(name) + self.sections[name] for name in HEADINGS]
        return "\n\n".join(parts) + "\n"

    def text(self, width: int = 88) -> str:
        """For a terminal: the id, and the sections indented under their names, in lines of at most `width`."""
        parts = [self.id]
        for name in HEADINGS:
            body = "\n\n".join(wrapped(block, width - 2) for block in self.sections[name].split("\n\n"))
            parts.append(name + "\n" + textwrap.indent(body, "  "))
        return "\n\n".join(parts) + "\n"


def wrapped(block: str, width: int) -> str:
    """A paragraph in lines of `width`. Code, tables and lists keep their lines; a command is not cut in two."""
    if block.startswith(("    ", "```")) or any(_ITEM.match(line) for line in block.split("\n")):
        return block
    return textwrap.fill(" ".join(block.split()), width, break_long_words=False, break_on_hyphens=False)


def is_page(text: "str | None") -> bool:
    """Whether a docstring is a page: it has a heading."""
    return bool(_HEADING.search(text or ""))


def parse(page_id: str, text: str, topic: str = "", source: str = "", found: str = "") -> Page:
    """A page from its Markdown. Raises PageError with the id and the reason if it is not one."""
    said = _TOPIC.search(text)
    if said:
        text, topic = text[: said.start()], said[1]
    if topic not in TOPICS:
        raise PageError(f"{page_id}: Topic: {topic!r} is not one of {', '.join(TOPICS)}")
    means, *rest = _HEADING.split(text.strip())
    sections = {MEANS: means.strip()}
    for name, body in zip(rest[::2], rest[1::2]):
        if name in sections or name not in HEADINGS:
            raise PageError(f"{page_id}: the heading {name!r} is unknown or there twice")
        sections[name] = body.strip()
    if list(sections) != [name for name in HEADINGS if name in sections]:
        raise PageError(f"{page_id}: its headings are not in the order {', '.join(HEADINGS)}")
    sections.setdefault(FOUND, found)
    sections.setdefault(SOURCE, source)
    empty: List[str] = [name for name in HEADINGS if not sections.get(name)]
    if empty:
        raise PageError(f"{page_id}: nothing under {', '.join(empty)}")
    return Page(page_id, topic, {name: sections[name] for name in HEADINGS})
