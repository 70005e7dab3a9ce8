"""A command as a message may show it: without the passwords and keys that people write into scripts."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence

from allranks.core.secret_forms import HIDDEN
from allranks.spec.problems import SECRET_NAME, WANDB_KEY, looks_like_token

PASSWORDS = ("pass", "passwd", "passphrase", "pwd")
GLUED_P = ("sshpass", "mysql", "mysqldump", "mysqladmin", "mariadb")
"""Programs whose `-p` takes a password, also in the same word: `-ppassword`. That of most others is a folder or a
port."""

COMMITS = ("git", "checkout", "commit", "reset", "revision", "ref", "sha")
"""Words before 40 hexadecimal digits that name a commit, with or without dashes. Others come before a key of W&B."""

HEADER = re.compile(r"(?i)\b((?:proxy-)?authorization:\s*|bearer\s+|(?:x-)?api-key:\s*).+", re.DOTALL)


def shown_command(command: str | Sequence[str]) -> str:
    """The words of a command with `(hidden)` in place of secrets."""
    words = command.split(" ") if isinstance(command, str) else command
    found: list[str] = []
    option, program, is_login = "", "", False
    for number, word in enumerate(words):
        name, equals, value = word.partition("=")
        bare = name.lstrip("-").replace("-", "_")
        base = posixpath.basename(word)
        program = base if not number or base in GLUED_P else program
        is_option = word.startswith("-") and len(word) > 1
        if program in GLUED_P and word.startswith("-p") and len(word) > 2:
            word = f"-p{HIDDEN}"
        elif equals and is_secret_name(bare, program) and value and not value.startswith("$"):
            word = f"{name}={HIDDEN}"
        elif not is_option and is_secret(word, option, program, is_login):
            word = HIDDEN
        else:
            word = HEADER.sub(rf"\1{HIDDEN}", word)
        is_login = is_login or word == "login"
        option = bare if is_option and not equals else word if word in COMMITS else ""
        found.append(word)
    return " ".join(found)


def is_secret_name(name: str, program: str) -> bool:
    """Whether an option or a variable of this name holds a secret."""
    is_password = name in PASSWORDS or (name == "p" and program in GLUED_P)
    return is_password or SECRET_NAME.search(name) is not None


def is_secret(word: str, option: str, program: str, is_login: bool) -> bool:
    """Whether a word is a secret, by its form, by the option before it, or as what `wandb login` gets."""
    if word.startswith("$") or not word:
        return False
    if looks_like_token(word) or is_login or is_secret_name(option, program):
        return True
    if option in ("u", "user") and ":" in word:
        return True
    return bool(WANDB_KEY.fullmatch(word)) and option not in COMMITS and program != "git"
