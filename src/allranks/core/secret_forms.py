"""Forms by which passwords and access tokens are known, and texts of others without them.

The secrets of a run are known, and `node/redaction.py` looks for them as they are. Those of a foreign log or a command
are not known: the form of a token shows them, or the name before a value.
"""

from __future__ import annotations

import re

HIDDEN = "(hidden)"
TOKEN = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"hf_[A-Za-z0-9]{20,400}"  # Hugging Face
    r"|gh[pousr]_[A-Za-z0-9]{20,400}|github_pat_[A-Za-z0-9_]{20,400}"  # GitHub
    r"|glpat-[A-Za-z0-9_-]{20,400}"  # GitLab
    r"|sk-(?=[A-Za-z_-]{0,200}[0-9])[A-Za-z0-9_-]{20,400}"  # OpenAI, Anthropic
    r"|(?:AKIA|ASIA)[0-9A-Z]{16}"  # AWS
    r"|AIza[A-Za-z0-9_-]{35}"  # Google
    r"|xox[abeoprs]-[A-Za-z0-9-]{10,400}"  # Slack
    r"|nvapi-[A-Za-z0-9_-]{20,400}"  # NVIDIA
    r"|eyJ[A-Za-z0-9_-]{10,2000}\.eyJ[A-Za-z0-9_-]{10,4000}\.[A-Za-z0-9_-]{10,2000}"  # a JSON web token
    r")|-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----"
)
"""Forms by which services' access tokens are known (they are published so that scanners find them)."""

IN_ADDRESS = re.compile(r"://[^/@\s:]*:[^/@\s]+@")
"""A password in an address: `https://user:password@host`."""

_NAMED = re.compile(
    r"(?P<name>(?<![a-z0-9])(?:\w{0,30}_)?(?:api|access|auth|secret|private|refresh|session|client|hf|hub|wandb|github"
    r"|openai|aws)[\w-]{0,30}?[ ]?(?:key|token|secret)|(?<![/\w])\w{0,30}(?P<pass>passw(?:or)?d|passphrase|_pass))"
    r"(?P<sign>\\?[\"']?(?:\s{0,3}[=:]\s{0,3}|,?[ ]))"
    r"(?:(?P<quote>\\?[\"'])(?P<quoted>[^\"']{6,400})|(?P<bare>[^\s\"'&,}\]]{6,400}))",
    re.IGNORECASE,
)
"""`apiKey=…` in an address, `"password": "…"` in JSON, `--api-key …`, `'--api-key', '…'`."""

_WORDED = re.compile(
    r"[A-Za-z.]{1,400}|[A-Za-z_]\w{0,20}(?:\.[A-Za-z_]\w{0,20}){1,6}|[\w.]{0,80}[(\[].{0,400}|~?/.{0,400}"
)
"""A word, code or a path: no secret, unless a password or quotes say so."""


def _hidden(found: "re.Match[str]") -> str:
    """The same text with HIDDEN in place of the value, if the value may be a secret."""
    sign, quoted, bare = found.group("sign"), found.group("quoted"), found.group("bare")
    is_password = found.group("pass") is not None
    value = quoted or bare
    if "=" not in sign and ":" not in sign and (is_password or not _may_be_key(value)):
        return found.group()  # two words beside each other
    sure = is_password and ("=" in sign or quoted is not None)
    if (quoted is None and value.startswith("$")) or not (sure or _may_be_key(value)):
        return found.group()
    return f"{found.group('name')}{sign}{found.group('quote') or ''}{HIDDEN}"


def _may_be_key(value: str) -> bool:
    return _WORDED.fullmatch(value) is None and any(c.isdigit() for c in value)


_BORNE = re.compile(
    r"(\bauthorization[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?:(?:basic|bearer|token)\s{1,3})?"
    r"|\bbearer\s{1,3}(?=\S{0,400}\d))([\w.~+/=-]{8,400})",
    re.IGNORECASE,
)
"""The value of an `Authorization` header."""


_LOGIN = re.compile(r"(\blogin\s{1,3})[0-9a-fA-F]{40}\b")
"""`wandb login` with its key."""


def without_secrets(text: str) -> str:
    """The text with HIDDEN in place of everything that has the form of a secret."""
    text = TOKEN.sub(HIDDEN, text)
    text = IN_ADDRESS.sub(f"://{HIDDEN}@", text)
    text = _LOGIN.sub(rf"\1{HIDDEN}", text)
    text = _NAMED.sub(_hidden, text)
    return _BORNE.sub(rf"\1{HIDDEN}", text)
