"""The model needs its own code, and that was not allowed.

## How it is found
`requires you to execute the configuration file in that repo on your local machine …
trust_remote_code=True`, `contains custom code which must be executed to correctly load the model`.

Easily confused with version-drift-transformers-peft, where the architecture is not known at all.

## Why it matters
The model's repository brings Python code; transformers runs it only with permission.

## What to do
Read the code, pin the revision, then `trust_remote_code: true`; or a version of transformers that knows
the architecture itself.

## Source
transformers 5.6.0 raises `custom code which must be executed` in `dynamic_module_utils.py` and `requires
you to execute the` in `pipelines/__init__.py`. PyTorch 2.13 asks in `torch/hub.py`.

Topic: software
"""

from __future__ import annotations

from allranks.core.causes import Cause
from allranks.diagnose.claims import Claim
from allranks.diagnose.symptom import Pattern

CAUSE = Cause(__name__)
CLAIM = Claim(
    frame=r"/torch/hub\.py in _check_repo_is_trusted|/dynamic_module_utils\.py in resolve_trust_remote_code",
    subject=r"(?i)^(?!.{0,300}unexpected keyword)(?=.{0,400}trust[_-]remote[_-]code)|\bremote code\b"
    r"|\bcustom code\b",
)
PATTERNS = (
    Pattern("custom code which must be executed", weight=96),
    Pattern("requires you to execute the", weight=96),
    Pattern("trust_remote_code=True", r"Please pass the argument `trust_remote_code=True`", weight=94),
)
