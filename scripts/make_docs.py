"""Writes docs/findings.md, the catalogue of all findings, from the rooms' own pages.

`--check` writes nothing and fails where the page is not what the code says.
"""

from __future__ import annotations

import sys
from pathlib import Path

from allranks.output.pages import known

PAGE = Path(__file__).resolve().parent.parent / "docs" / "findings.md"
HEAD = """# Findings

Every id that `allranks` can print, with its page. Made by `make docs` from the code; `allranks explain ID`
prints the same.
"""


def rendered() -> str:
    pages = known()
    parts = [HEAD]
    for name in sorted(pages):
        text = "\n".join(line.rstrip() for line in pages[name](name).strip().splitlines())
        parts.append(f"## {name}\n\n{text}\n")
    return "\n".join(parts)


def main() -> int:
    text = rendered()
    if "--check" in sys.argv[1:]:
        if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
            print(f"{PAGE} is not what the code says: make docs", file=sys.stderr)
            return 1
        return 0
    PAGE.write_text(text, encoding="utf-8")
    print(PAGE)
    return 0


if __name__ == "__main__":
    sys.exit(main())
