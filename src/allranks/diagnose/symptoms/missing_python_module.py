"""A Python module is not installed.

## How it is found
`ModuleNotFoundError: No module named '*'`, `This modeling file requires the following packages`, `flash_attn seems to
be not installed`. If only one node's ranks print it, the environments differ.

Easily confused with version-drift-transformers-peft, where the module is there in another version.

## Why it matters
The program ends at its import. In a job of several ranks the others wait for it or lose their peer.

## What to do
Install it in the environment that the run uses, the same on every node (one image, one lock file).

## Source
CPython 3.11 raises `ModuleNotFoundError: No module named`. transformers 5.6.0 raises the other texts in
`dynamic_module_utils.py` and `utils/import_utils.py`. The other texts are as people posted them in public
reports.

Topic: software
"""

from __future__ import annotations

from allranks.core.causes import Cause
from allranks.diagnose.claims import Claim
from allranks.diagnose.complaints import Complaint
from allranks.diagnose.symptom import CRASH, WEAK, Pattern
from allranks.diagnose.symptoms.missing_system_tool import TOOL

CAUSE = Cause(__name__)
_ABSENT = (
    r"(?i)(?<![\w.])(?!(?:headers?|toolkits?|drivers?|\w{1,30}\.h|compilers?|daemons?|\w{0,10}managers?|that|it)\b"
    rf"|{TOOL}['\"`)]{{0,3}} )[\w.-]{{1,60}}['\"`)]{{0,3}} (?:is|are|was) ?(?:not|n't) installed\b"
    r"|\bis it installed|\bto be installed|\bcould not import package"
    r"|\bno package metadata was found|\bno module named\b"
)
CLAIM = Claim(
    subject=(
        r"(?i)\b(?:but|and) not installed\b|\b(?:is|are|was|be|been) ?(?:not"
        r"|n't) (?:be )?(?:yet )?(?:correctly |properly )?installed\b"
        r"|\bpip3? install\b"
        r"|\binstall(?:ing)? (?:it|them|one of them) (?:first|via|with|using|by|from|to)"
        r"|\brequires? (?:the )?(?:install"
        r"|\S{1,60} to be installed)|\bneeds? to be installed|\bplease (?:first )?install (?!a (?:newer"
        r"|different))"
        r"|\b(?:package|(?<!dynamic )(?<!shared )library|dependency|dependencies)\b.{0,60}(?:missing"
        r"|required|not found|not available)"
        r"|\b(?:missing|required|optional) (?:\w{1,20} )?(?:package|library|dependency|dependencies)\b"
        r"|(?<!kernel )\b(?:python )?modules? (?:is |are |was |were )?(?:not (?:be )?found|missing)\b"
        r"|\bis needed for .{1,60}\bnot found|\b(?:unable to|cannot|can't|could not) (?:find|import) (?:the "
        r")?(?:python )?(?:modules?|packages?)\b"
        r"|\bno \w{2,30} package was found\b|\bnot seem (?:to be )?installed\b"
        r"|\bno matching distribution"
        r"|\bnot available\b\W{1,3}(?:please |make sure |ensure ).{0,20}\binstall"
    ),
    settles=_ABSENT,
)
COMPLAINT = Complaint(subject=_ABSENT, settles=_ABSENT)
PATTERNS = (
    Pattern("ModuleNotFoundError", r"No module named '?[\w.]{1,80}", raised=True),
    Pattern(
        "No module named",
        r"(?:python\S{0,120}|/\S{1,120}): No module named '?[\w.]{1,80}",
        weight=90,
    ),
    Pattern("ImportError", r"No module named '?[\w.]{1,80}", raised=True),
    Pattern("requires the following packages that were not found"),
    Pattern("seems to be not installed", weight=90, raised=True),
    Pattern("but it was not found in your environment", raised=True),
    Pattern("No package metadata was found", weight=90),
    Pattern("distribution was not found and is required", weight=90),
    Pattern("No module named", weight=WEAK),
    Pattern(
        "ImportError: ",
        r"^ImportError: (?!.{0,300}(?i:version|upgrade|update|undefined|\.so\b|\.dll\b|DLL|cannot import name"
        r"|attribute|[<>]=))",
        weight=CRASH + 1,
        raised=True,
    ),
    Pattern(
        "ImportError",
        r"(?:requires|Using|Please install|needs to be installed|is not installed|pip install)",
        weight=90,
        raised=True,
        without=("is required for a normal functioning", "but found"),
    ),
)
