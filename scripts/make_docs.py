"""Writes what is generated under docs/: the catalogue of all findings, the run file's reference and
JSON schema, the verbs, the model families, the table of events.

`--check` writes nothing, names the pages that are not what the code says, and fails if there is one.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import event_table
import verbs_page

from allranks.output.pages import by_topic
from allranks.plan import families
from allranks.spec import json_schema
from allranks.spec.reference import page

DOCS = Path(__file__).resolve().parent.parent / "docs"
FINDINGS = """# Findings

Every id that `allranks` can print, by topic, with its page. `make docs` makes this page from the code, and
`allranks explain ID` prints the same text.
"""


def findings() -> str:
    parts = [FINDINGS]
    topics = by_topic()
    for title, pages in topics.items():
        links = ", ".join(f"[{page.id}](#{page.id})" for page in pages)
        parts.append(f"**{title}**: {links}\n")
    for title, pages in topics.items():
        parts.append(f"## {title}\n")
        parts += [f"### {page.id}\n\n{page.markdown('**{}.**' + chr(10))}" for page in pages]
    return "\n".join(parts)


def filled(name: str, part: str, text: str) -> str:
    """The page `name` with `text` between the marks of `part`; the rest of it is written by hand."""
    old = (DOCS / name).read_text(encoding="utf-8")
    marks = re.compile(rf"(<!-- {part}:[^\n]*-->\n).*?(<!-- end -->)", re.DOTALL)
    new, count = marks.subn(lambda mark: f"{mark[1]}{text}\n{mark[2]}", old)
    if count != 1:
        raise SystemExit(f"docs/{name}: {count} marks of {part}, not one")
    return new


def rendered() -> dict[str, str]:
    """Each generated page by its name below docs/."""
    return {
        "architecture.md": filled("architecture.md", "events", event_table.table()),
        "findings.md": findings(),
        "plan.md": filled("plan.md", "families", families.table()),
        "run-file.md": page(),
        "verbs.md": verbs_page.page(),
        "allranks.1": verbs_page.man_page(),
        "run-file.schema.json": json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n",
    }


def main() -> int:
    texts = {DOCS / name: text for name, text in rendered().items()}
    stale = [path for path, text in texts.items() if not path.exists() or path.read_text("utf-8") != text]
    checking = "--check" in sys.argv[1:]
    for path in stale:
        if checking:
            print(f"{path} is not what the code says: make docs", file=sys.stderr)
        else:
            path.write_text(texts[path], encoding="utf-8")
            print(path)
    return int(checking and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
