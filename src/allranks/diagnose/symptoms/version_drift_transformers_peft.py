"""Library versions do not fit together.

## How it is found
`cannot import name '*'`, `tokenizers>=*,<* is required for a normal functioning of this module, but found
tokenizers==*`, `does not recognize this architecture`, `got an unexpected keyword argument`.

Easily confused with missing-python-module.

## Why it matters
A library was updated without those that depend on it, or the nodes have different versions.

## What to do
Install the versions that were released together, pinned, the same on every node; `envs/` holds sets that
are known to run.

## Source
transformers 5.6.0 raises `is required for a normal functioning of this module` in `utils/versions.py` and
`does not recognize this architecture` in `models/auto/configuration_auto.py`. CPython 3.11 raises `cannot
import name` and `unexpected keyword argument`. The other texts are as people posted them in public reports.

Topic: software
"""

from __future__ import annotations

from allranks.core.causes import Cause
from allranks.diagnose.claims import Claim
from allranks.diagnose.symptom import CRASH, Pattern
from allranks.diagnose.symptoms.missing_python_module import CAUSE as MISSING_PYTHON_MODULE

OWN = r"(?:main|<lambda>)\(\)"
"""Functions that programs have and libraries do not offer."""
CAUSE = Cause(__name__, explains=(MISSING_PYTHON_MODULE,))
CLAIM = Claim(
    subject=(
        r"(?i)(?:requires?|needs?|at least|minimum|upgrade|update|downgrade|install|older|newer"
        r"|version).{0,80}(?:version|[<>=]=|\bv?\d{1,3}\.\d)|pip install (?:-U|--upgrade)"
        r"|\b(?:must|should|has to) be [<>=]= ?v?\d{1,3}\.\d{1,3}\.\d|\b(?:api|arguments?|class|function"
        r"|module) (?:has|have|was|were) (?:been )?(?:changed|moved|removed|renamed)"
        r"|(?:module|type object) '[\w.]{1,120}' has no attribute"
        r"|^(?:(?:\w{1,60}\.){0,8}AttributeError: )?'\w{0,60}(?:Trainer|Config|Model|Tokenizer|Processor|Engine"
        r"|Accelerator|LM|Optimizer|Module|Arguments|Plugin|Cache|State|Strategy|Callback)\w{0,20}' obj"
        r"|'(?:Llama|Qwen|Mi[sx]tral|Gemma|Bert|Roberta|GPT|T5|Phi|Bloom|Falcon|ChatGLM|Deep[Ss]eek|InternLM"
        r"|Baichuan|OPT|Whisper"
        r"|CLIP|ViT)\w{1,60}' object has no attribute"
        rf"|^TypeError: (?!{OWN}).{{1,160}}(?:missing \d{{1,2}} required|takes .{{1,40}} positional arguments?)"
    ),
    loose=(
        r"(?i)\b(?:unknown|unsupported|unrecogni[sz]ed) (?:model[ _]?)?(?:architectures?|model[ _]type)\b"
        r"|\b(?:model[ _]types?|architectures?)\b.{0,80}\bnot (?:yet )?(?:supported|recogni[sz]ed|known|implemented)"
    ),
    settings=True,
    settles=(
        r"(?i)\b(?:in|not )compatible with\b.{0,60}(?:[<>=]=|\bversions? \d|\b\d{1,3}\.\d{1,3})"
        r"|[<>=]= ?v?\d[\d.]{0,12}\b.{0,60}\b(?:in|not )compatible\b|\bversion of \S{1,40} .{0,40}\bnot compatible"
    ),
)
PATTERNS = (
    Pattern("does not exist or is not currently imported", weight=96),  # a tokenizer of a newer transformers
    Pattern("data did not match any variant", weight=92),  # a file of a newer tokenizers
    Pattern("got multiple values for", r"for (?:keyword )?argument", weight=CRASH + 4, raised=True),
    Pattern("cannot import name", raised=True),
    Pattern("is required for a normal functioning of this module"),
    Pattern("does not recognize this architecture"),
    Pattern("VersionConflict", raised=True),
    Pattern("PydanticUserError", raised=True, weight=88),  # code for pydantic 1 with pydantic 2
    Pattern("PydanticImportError", raised=True, weight=88),
    Pattern(  # the model's type is in no table of this transformers
        "configuration_auto.py",
        r"configuration_auto\.py\W{1,3}line \d{1,6},? in __getitem__",
        weight=CRASH + 2,
        frame=("__getitem__", "configuration_auto.py"),
    ),
    Pattern("unexpected keyword argument", rf"^(?!.{{0,80}}TypeError: {OWN})", weight=CRASH + 4, raised=True),
    Pattern(
        "has no attribute",
        r"AttributeError: module '(?:transformers|peft|torch|accelerate|datasets|deepspeed|trl|numpy"
        r"|tokenizers)\b",
        weight=CRASH + 4,
        raised=True,
    ),
    Pattern("compiled using NumPy", weight=CRASH),
    Pattern("requires", r"ImportError: .{0,80}requires .{0,40}(?:>=|==|<).{0,80}", raised=True, weight=90),
)
