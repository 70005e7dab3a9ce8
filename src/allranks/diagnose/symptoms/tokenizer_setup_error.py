"""The tokenizer is not set up for training.

## How it is found
`Asking to pad but the tokenizer does not have a padding token`, `tokenizer.chat_template is not set`,
`Unable to create tensor, you should probably activate truncation and/or padding`, `Template * does not
exist`.

Easily confused with tokenizer-or-model-file-missing, where a file is not there.

## Why it matters
Padding, a chat template or a template's name is missing, so no batch can be made.

## What to do
`tokenizer.pad_token = tokenizer.eos_token` (or `unk`), a model with a chat template or the template named
in the configuration, truncation and padding in the collator.

## Source
transformers 5.6.0 raises `does not have a padding token`, `chat_template is not set` and `activate
truncation and/or padding` in `tokenization_utils_base.py`. LLaMA-Factory 0.9.5 raises `Template … does not
exist` in `data/template.py`.

Topic: storage
"""

from __future__ import annotations

from allranks.core.causes import Cause
from allranks.diagnose.claims import Claim
from allranks.diagnose.symptom import Pattern

CAUSE = Cause(__name__)
CLAIM = Claim(
    frame=r"/tokenizers?/|/tokenization_|/jinja2/|chat_template\w{0,20}\.py in",
    subject=r"(?i)tokeni[sz]er|chat[_ ]template|(?:pad|eos|bos|special)[_ ]tokens?(?:_id)?\b|jinja",
)
PATTERNS = (
    Pattern("instantiate the backend tokenizer", raised=True, weight=90),
    Pattern("does not have a padding token"),
    Pattern("chat_template is not set", weight=98),
    Pattern("activate truncation and/or padding", weight=94),
    Pattern("Template", r"Template \S{1,60} does not exist", weight=94),
    Pattern("no padding token is defined", weight=96),
    Pattern("supply an encoding or a list of encodings", weight=90),
)
