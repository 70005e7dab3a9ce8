"""Finds habits of English that docs/contributing/style.md drops, in every sentence that a user or a developer reads.

    python scripts/language.py [--list [ROOM…]] [--write]

It reads Markdown (README.md, docs/), the comments of `examples`, and in `src` the texts of the program and of the live
page: string literals that are sentences or parts of one, and the docstrings that are pages of `allranks explain` or
helps of verbs. It also reads all other docstrings and the comments of `src`; these count apart, as `code of ROOM`.
`scripts/language_baseline.json` holds how many are left in each room. A room with more fails; `--write` lowers the
numbers and never raises one. A line that says `language: allow` (a comment in Python, `<!-- language: allow -->` in
Markdown) is passed over.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BASELINE = ROOT / "scripts" / "language_baseline.json"
GENERATED = {"docs/findings.md", "docs/run-file.md", "docs/verbs.md"}
"""Made from texts of `src`, which are read there."""

ALLOW = "language: allow"
LONGEST = 35
"""Words of a sentence, or of its part before or after a colon."""

VALUE = "\x00"
"""Stands for what an f-string fills in."""

NOUN = r"(?!longer|more|less|better|worse|matter|one\b|doubt)[a-z]+"
UNITS = r"(?:GiB|MiB|KiB|GB|MB|bytes|tokens|samples|steps|lines|seconds|minutes|s|ms|GPUs|ranks|processes|calls|files)"
PER = r"(?:GPU|node|rank|step|second|minute|hour|day|process|layer|line|run|token|sample|link|port|host|machine)"


@dataclass(frozen=True)
class Habit:
    pattern: re.Pattern[str]
    instead: str


def habit(pattern: str, instead: str, flags: int = re.IGNORECASE) -> Habit:
    return Habit(re.compile(pattern, flags), instead)


HABITS = {
    "is-no": habit(
        rf"(?<!there )(?<!there also )\b(?:is|are|was|were) no (?!longer\b|(?:more|less|fewer) than\b|better\b|worse\b"
        rf"|different\b|faster\b|slower\b|larger\b|smaller\b|one'?s?\b|doubt\b){NOUN}",
        "is not a …",
    ),
    "where": habit(
        r"(?:^|(?<=[.;:(] ))(?:W|(?<!^)w)here (?!to\b|from\b)(?![^.]*\?)(?:\w+ ){1,6}?(?:is|are|was|were|has"
        r"|have|had|does|do|did|can|could|cannot|may|must|needs?|says?|gives?|names?|fits?|wants?|answers?|runs?|shows?|holds?|knows?|reads?"
        r"|lacks?|fails?|differs?)\b",
        "if",
        0,
    ),
    "mend": habit(r"\bmend(?:s|ed|ing)?\b", "fix, repair"),
    "let-pass": habit(r"\blet (?:it|them|this|that|these|this known finding) pass\b", "accept, ignore"),
    "a-for-per": habit(
        rf"\b(?:[\d,.]+|{VALUE}) ?{UNITS} an? (?:{PER})\b|\b(?:bytes|tokens|samples|seconds|GPUs) an? {PER}\b"
        rf"|\b(?:process|script|shard|pod|actor|connection|task|torchrun|supervisor|ranks|one node)"
        r" a (?:node|machine|rank)\b"
        rf"|\b(?:GiB|MiB|GB/s|s) an? {PER}\b|\bone an? (?:{PER})\b",
        "per",
    ),
    "no-more": habit(r"\bno more(?:[.;,:!]|$)|\bnot any ?more\b|\bany more(?=[.;,:]|$)", "no longer"),
    "of-its-own": habit(
        r"\bof (?:one's|our) own\b|\b(?:process|session|job|verdict|kind|thread|script|program|vocabulary|limit)"
        r" of (?:its|their|his) own\b|\bof (?:its|their) own\b.*\bof (?:its|their) own\b",
        "its own …; separate",
    ),
    "of-ours": habit(r"\bof ours\b|\b(?:is|are|was|not|surely) ours\b", "allranks started it, made it"),
    "told": habit(
        r"\b(?:is|are|was|were|be|been) told (?:with|of|by|as|once|apart|only)\b"
        r"|\bis said (?:once|first|then|so|by|of)\b",
        "reported",
    ),
    "who-says": habit(
        r"\bwho (?:sent|did|told) (?:it|that|this)\b[^?]*$|\b(?:nobody|somebody) (?:else )?(?:said|says|asked"
        r"|looks|answers|told|tells|listens)\b",
        "name who",
    ),
    "stands": habit(
        r"\b(?:stands|stand|stood|standing) (?:in|at|on|under|above|below|beside|there|here|behind|between"
        r"|before|alone|over)\b"
        r"|\b(?:lies|lie|lay|lying) (?:in|at|on|under|above|below|beside|there|here|behind|between|before|over)\b",
        "is",
    ),
    "what": habit(
        r"(?:^|(?<=[.;:] ))(?:What|(?<!^)what) (?!to\b|it (?:means|tries|looks)\b|allranks promises)"
        r"(?:is|was|it|a|an|the|they|nobody|others?|allranks|no|does|has|cannot|ranks?|trains|runs|comes|stands|lies|only|had|belongs|could|did|one|any|you|some|\w+s)\b"
        r"(?![^.;?]*\?)(?=.*[.;]$| \w+ \w+ \w+ \w+ \w+)",
        "name the subject",
        0,
    ),
    "want-of": habit(r"\bfor want of\b|\bin want of\b", "for lack of; because … is missing"),
    "own-words": habit(r"\bown words\b|\bits words\b", "message, output"),
    "old-word": habit(
        r"\banew\b|\bthereof\b|\btherein\b|\bwherein\b|\bwhereof\b|\bforthwith\b|\bhitherto\b|\blest\b|\bwhilst\b"
        r"|\bupon\b|\bnought\b|\bof whatever kind\b|\bas good as\b|\bby and by\b|\bat hand\b|\bfor ever\b",
        "plain word",
    ),
    "none-of": habit(
        r"(?<!there )\b(?:is|are|was|were) (?:none (?:of|that|but)|nothing (?:that|to))\b", "is not"
    ),
    "cure": habit(r"\bcures?\b|\bremed(?:y|ies)\b", "fix"),
    "verb-no": habit(
        r"\b(?:ends|stops|touches|costs|kills|loses|gives) (?:no|none|nothing)\b(?! more than| less than|\.)",
        "does not …",
    ),
    "passive": habit(
        r"\b(?:was|were|is|are|been|be) (?:\w+ed|begun|made|written|read|sent|held|taken|given|seen|found|kept|known"
        r"|shown|said|told|built|left|lost|put|run|set) by (?:allranks|somebody|nobody|torchrun"
        r"|DeepSpeed|NCCL|others)\b",
        "active voice",
    ),
    "not-last": habit(
        r"\b(?:has|have|does|do|needs?|knows?|shows?|holds?|fits?|asks?|says?) (?:it|them|that|this) not\b",
        "does not have it",
    ),
    "spelling": habit(
        r"\b(?:de)?(?:quant|recogn|initial|stabil|amort|normal|organ|summar|minim|maxim|util)is(?:e[ds]?|ing|ations?)\b"
        r"|\bbehaviours?\b",
        "American: -ize, behavior",
    ),
    "blocks": habit(r"\b\d+ blocks\b|\bblocks, \d|\bfinding that blocks\b", "error"),
    "separator": habit(
        r"(?<!port )(?<!port: )(?<!ports )(?<!pid )(?<!job )"
        r"(?<![\w.,/:#=@'\"()\[\]+-])(?:[1-9]\d{4,})(?![\w,./:\])-]|\.\d)",
        "10,000",
    ),
}  # fmt: skip

CODE = re.compile(r"`[^`]*`")
FENCE = re.compile(r"^( *)(```|~~~).*?^\1\2", re.MULTILINE | re.DOTALL)
HTML = re.compile(r"<[^>]+>")
HEADING = re.compile(
    r"^(?:#+ .*|(?:What it|What is|Why it|What to|How it|Confused with|Source)[a-z ]*)$", re.MULTILINE
)
LINK = re.compile(r"\]\([^)]*\)")
SPLIT = re.compile(
    r"(?<=[.!?])[\"')]*\s+(?=[A-Z`\"'(\d]|allranks|torch|transformers|conda|uPlot|tmpfs|gloo)|(?<=:)\s*\n|\n\s*\n"
    r"|\n\s*(?=[-*|#] |\||\d+\. )|(?<=;)\s"
)


@dataclass(frozen=True)
class Text:
    """One text and the line that it begins at."""

    path: str
    line: int
    text: str
    of_code: bool = False
    """Only readers of the source see it."""


@dataclass(frozen=True)
class Hit:
    path: str
    line: int
    habit: str
    sentence: str
    of_code: bool = False

    @property
    def room(self) -> str:
        parts = self.path.split("/")
        if parts[0] == "src":
            return ("code of " if self.of_code else "") + parts[2].removesuffix(".py")
        return parts[0].removesuffix(".md")


def markdown(path: Path) -> Iterator[Text]:
    """A file's paragraphs, without code."""
    name = str(path.relative_to(ROOT))
    text = path.read_text(encoding="utf-8")
    text = FENCE.sub(lambda found: "\n" * found[0].count("\n"), text)
    text = re.sub(
        r"<!-- (\w+):.*?<!-- end -->", lambda found: "\n" * found[0].count("\n"), text, flags=re.DOTALL
    )
    line = 1
    for block in re.split(r"(\n\s*\n)", text):
        if block.strip() and ALLOW not in block:
            if block.lstrip().startswith("|"):
                for count, row in enumerate(block.split("\n")):
                    for cell in row.split("|"):
                        yield Text(name, line + count, cell)
            else:
                yield Text(name, line, block)
        line += block.count("\n")


REGEX = re.compile(
    r"(?:^|\n)\s*(?:import |from \w+[\w.]* import |if \[|fi\b|do\n)"
    r"|\\[bdswSDWA.(\[]|\(\?|\[\^|\.\*|\$\)|\\n\\n|<[a-z/!]+[ >]|[{;]\s*\n|</|\{\{"
)
NOT_FOR_USERS = ("compile", "match", "search", "sub", "Pattern", "pattern", "ValueError", "RuntimeError", "TypeError",
                 "AssertionError", "KeyError", "NotImplementedError", "any_of", "habit")  # fmt: skip


def is_sentence(text: str) -> bool:
    """Whether a string literal is a sentence, or a part of one with three words or more."""
    if REGEX.search(text) or text.count("\n") > 30:
        return False
    words = re.findall(r"[A-Za-z][a-z']*", text)
    return (
        len(words) >= 3
        and text.count(" ") >= 2
        and sum(len(word) for word in words) > 0.55 * len(text.replace(" ", ""))
    )


def flat(node: ast.expr) -> str | None:
    """The text of a string or an f-string, with a mark for each value; None for anything else."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else VALUE for part in node.values)
    return None


PAGES = re.compile(r"/(?:rules|symptoms|detectors|verbs)/[a-z0-9_]+\.py$")


def not_texts(tree: ast.Module) -> set[int]:
    """The ids of the nodes that are docstrings, parts of f-strings, or arguments that only programmers see."""
    skipped: set[int] = set()
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        for one in body if isinstance(body, list) else ():
            if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant):
                skipped.add(id(one.value))
        if isinstance(node, ast.JoinedStr):
            skipped |= {id(part) for part in ast.walk(node) if part is not node}
        if isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if called in NOT_FOR_USERS:
                skipped |= {id(part) for part in ast.walk(node)}
    return skipped


def python(path: Path) -> Iterator[Text]:
    """A module's texts for users."""
    name = str(path.relative_to(ROOT))
    source = path.read_text(encoding="utf-8")
    lines = source.splitlines()
    tree = ast.parse(source)
    skipped = not_texts(tree)
    if PAGES.search(name):
        text = ast.get_docstring(tree, clean=False) or ""
        yield Text(name, 1, text)
    for node in ast.walk(tree):
        if id(node) in skipped or not isinstance(node, ast.expr):
            continue
        text = flat(node)
        if text is None or not is_sentence(text):
            continue
        near = lines[max(0, node.lineno - 1) : (node.end_lineno or node.lineno)]
        if not any(ALLOW in line for line in near):
            yield Text(name, node.lineno, text)


TOOL_COMMENT = re.compile(r"(?:noqa|type:|pyright:|fmt:|pragma|language:|!)")


def comments(path: Path) -> Iterator[Text]:
    """A module's comments, and the docstrings that are not pages."""
    name = str(path.relative_to(ROOT))
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if node is tree and PAGES.search(name):
            body = tree.body[1:]
        for one in body if isinstance(body, list) else ():
            if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant):
                yield Text(name, one.lineno, str(one.value.value), of_code=True)
    block: list[tokenize.TokenInfo] = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and not TOOL_COMMENT.match(token.string.lstrip("# ")):
            # Comments in lines of their own are one text; a comment behind code is another.
            alone = not token.line[: token.start[1]].strip()
            if block and not (alone and token.start[0] == block[-1].start[0] + 1):
                yield joined(name, block)
                block = []
            block.append(token)
    if block:
        yield joined(name, block)


def yaml_comments(path: Path) -> Iterator[Text]:
    """The comments of an example's run file."""
    name = str(path.relative_to(ROOT))
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        found = re.search(r"(?:^|\s)#\s+(.*)", line)
        if found and ALLOW not in line:
            yield Text(name, number, found[1])


SCRIPT_TEXT = re.compile(r'"([^"\n]*)"|`([^`\n]*)`')
FILLED_IN = re.compile(r"\$\{[^{}]*\}")


def javascript(path: Path) -> Iterator[Text]:
    """The live page's texts: string literals and templates that are sentences or parts of one."""
    name = str(path.relative_to(ROOT))
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if ALLOW in line or line.lstrip().startswith("//"):
            continue
        for found in SCRIPT_TEXT.finditer(line):
            text = FILLED_IN.sub(VALUE, found[1] or found[2] or "")
            if is_sentence(text):
                yield Text(name, number, text)


def joined(name: str, block: list[tokenize.TokenInfo]) -> Text:
    return Text(name, block[0].start[0], "\n".join(one.string.lstrip("# ") for one in block), of_code=True)


def hits(text: Text) -> Iterator[Hit]:
    bare = HEADING.sub("", HTML.sub("", LINK.sub("]", CODE.sub("`x`", text.text))))
    at = 0
    for part in SPLIT.split(bare):
        found = bare.find(part, at)
        line = text.line + bare.count("\n", 0, max(found, 0) + len(part) - len(part.lstrip()))
        at = max(found, at)
        sentence = " ".join(part.split())
        if not sentence:
            continue
        for name, one in HABITS.items():
            for _ in one.pattern.finditer(sentence):
                yield Hit(text.path, line, name, sentence, text.of_code)
        # A list after a colon counts apart.
        if max(len(re.findall(r"[A-Za-z][\w'-]*", part)) for part in sentence.split(": ")) > LONGEST:
            yield Hit(text.path, line, "long", sentence, text.of_code)


def all_texts() -> Iterator[Text]:
    for path in sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]):
        if str(path.relative_to(ROOT)) not in GENERATED and path.name != "style.md":
            yield from markdown(path)
    for path in sorted((ROOT / "examples").glob("*.yaml")):
        yield from yaml_comments(path)
    for path in sorted((ROOT / "src").rglob("*.js")):
        if "vendor" not in path.parts:
            yield from javascript(path)
    for path in sorted([*(ROOT / "src").rglob("*.py"), *(ROOT / "examples").glob("*.py")]):
        yield from python(path)
        yield from comments(path)


def all_hits() -> list[Hit]:
    return [hit for text in all_texts() for hit in hits(text)]


def rooms(found: list[Hit]) -> dict[str, int]:
    return dict(sorted(Counter(hit.room for hit in found).items()))


def main() -> int:
    parser = argparse.ArgumentParser(description="Habits of English that the style page drops.")
    parser.add_argument("--list", nargs="*", metavar="ROOM", help="every hit, of these rooms or all")
    parser.add_argument("--write", action="store_true", help="lower the baseline to what is there")
    options = parser.parse_args()
    found = all_hits()
    if options.list is not None:
        for hit in found:
            if not options.list or hit.room in options.list or hit.habit in options.list:
                print(f"{hit.path}:{hit.line}: [{hit.habit}] {hit.sentence.replace(VALUE, '…')}")
    counts = rooms(found)
    old = json.loads(BASELINE.read_text("utf-8")) if BASELINE.exists() else None
    if options.write:
        kept = (
            counts if old is None else {room: min(count, old.get(room, 0)) for room, count in counts.items()}
        )
        BASELINE.write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")
        old = kept
    more = {room: count for room, count in counts.items() if count > (old or {}).get(room, 0)}
    for room, count in more.items():
        print(
            f"{room}: {count} habits, {(old or {}).get(room, 0)} allowed: scripts/language.py --list {room}"
        )
    print(f"language: {sum(counts.values())} habits in {len(counts)} rooms")
    return 1 if more else 0


if __name__ == "__main__":
    sys.exit(main())
