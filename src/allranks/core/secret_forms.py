"""Forms by which passwords and access tokens are known, and texts of others without them.

The secrets of a run are known, and `node/redaction.py` looks for them as they are. Those of a foreign log or a command
are not known: the form of a token shows them, or the name before a value.
"""

from __future__ import annotations

import re

HIDDEN = "(hidden)"
TOKEN = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"hf_[A-Za-z0-9]{20,}"  # Hugging Face
    r"|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}"  # GitHub
    r"|glpat-[A-Za-z0-9_-]{20,}"  # GitLab
    r"|sk-(?=[A-Za-z_-]*[0-9])[A-Za-z0-9_-]{20,}"  # OpenAI, Anthropic
    r"|(?:AKIA|ASIA)[0-9A-Z]{16}"  # AWS
    r"|AIza[A-Za-z0-9_-]{35}"  # Google
    r"|xox[abeoprs]-[A-Za-z0-9-]{10,}"  # Slack
    r"|nvapi-[A-Za-z0-9_-]{20,}"  # NVIDIA
    r"|eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"  # a JSON web token
    r")|-----BEGIN [A-Z ]*PRIVATE KEY-----"
)
"""Forms by which services' access tokens are known (they are published so that scanners find them)."""

IN_ADDRESS = re.compile(r"://[^/@\s:]*:[^/@\s]+@")
"""A password in an address: `https://user:password@host`."""

_NAMED = re.compile(
    r"((?<![a-z0-9])(?:api|access|auth|secret|private|refresh|session|client|hf|hub|wandb|github|openai|aws)"
    r"[\w-]{0,30}?(?:key|token|secret)|passw(?:or)?d|passphrase)"
    r"([\"']?\s{0,3}[=:]\s{0,3}[\"']?)(?![\w.]{0,40}[(\[])([^\s\"'&,;)}\]]{6,400})",
    re.IGNORECASE,
)
"""`apiKey=…` in an address, `"password": "…"` in JSON. A call behind the sign is code and no secret."""

_BORNE = re.compile(r"\b((?:bearer|basic)\s{1,3})(?=\S{0,400}\d)([\w.~+/=-]{8,400})", re.IGNORECASE)
"""The value of an `Authorization` header."""


def without_secrets(text: str) -> str:
    """The text with HIDDEN in place of everything that has the form of a secret."""
    text = TOKEN.sub(HIDDEN, text)
    text = IN_ADDRESS.sub(f"://{HIDDEN}@", text)
    text = _NAMED.sub(rf"\1\2{HIDDEN}", text)
    return _BORNE.sub(rf"\1{HIDDEN}", text)
