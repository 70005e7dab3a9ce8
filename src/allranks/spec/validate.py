"""The characters that a host, a user, a variable or a path may have, so that no value becomes syntax.

Each function takes text and returns what is to be used, or raises Wrong. Values travel to other programs
as single arguments, yet a host that begins with `-` is an option to ssh, and a name is part of paths.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from allranks.spec.problems import Wrong, looks_like_token, shown

HOST = r"[A-Za-z0-9_][A-Za-z0-9_.-]*"
NAME = r"[A-Za-z0-9_][A-Za-z0-9_.-]*"
USER = r"[A-Za-z0-9_][A-Za-z0-9_.@+-]*"
INTERFACE = r"[A-Za-z0-9_][A-Za-z0-9_.:@-]{0,14}"
VARIABLE = r"[A-Za-z_][A-Za-z0-9_]*"
FINDING = r"[a-z0-9]+(?:-[a-z0-9]+)*"
SCHEDULER_WORD = r"[A-Za-z0-9_][A-Za-z0-9_.,@+:/-]*"
SIZE = r"([0-9]+(?:\.[0-9]+)?)\s*([kKmMgGtTpP]?)(i?)[bB]?"
IMAGE = r"[A-Za-z0-9./~_][A-Za-z0-9./~_:@+-]*"
MODULE = r"[A-Za-z0-9_][A-Za-z0-9_.+/-]*"
CONDA_NAME = r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,127}"
MOUNT = r"(?:~|~?/[^:]*):/[^:]*(?::[A-Za-z][A-Za-z0-9,=_-]*)?"
NO_OPTION = r"[^-][\s\S]*"
URL = r"https?://[^\s\x00-\x1f\x7f]+"
SLURM_TIME = r"[0-9]+(?::[0-9]{2}){0,2}|[0-9]+-[0-9]{1,2}(?::[0-9]{2}){0,2}|(?i:UNLIMITED|INFINITE)"
# Patterns are compiled when they are first used (and kept by `re`): a run file needs few of them.

MAX_HOST = 253
"""RFC 1035: the longest name that DNS can hold."""

MAX_NAME = 63
"""A node's and a run's name is part of paths, of a host name and of a container's name."""

MAX_VALUE = 131_072 - 256
"""Linux passes one string of at most 128 KiB to a program (MAX_ARG_STRLEN), the variable's name included."""

MAX_BYTES = 1 << 60

SET_BY_TORCHRUN = frozenset(
    (
        *("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK", "GROUP_WORLD_SIZE"),
        *("ROLE_RANK", "ROLE_WORLD_SIZE", "ROLE_NAME", "MASTER_ADDR", "MASTER_PORT"),
        *("TORCHELASTIC_RESTART_COUNT", "TORCHELASTIC_MAX_RESTARTS", "TORCHELASTIC_RUN_ID"),
    )
)
"""torchrun sets these for every rank (torch 2.13, elastic/agent/server/local_elastic_agent.py)."""

PLACES_RANKS = SET_BY_TORCHRUN | {"NODE_RANK", "NNODES", "NPROC_PER_NODE", "FORCE_TORCHRUN"}
"""Those, and what LLaMA-Factory's own launcher reads, which does not run here."""


def host(text: str) -> str:
    """A host name, an ssh alias, an IPv4 or an IPv6 address."""
    if text.startswith("-"):
        raise Wrong(
            f"{shown(text)} begins with a dash.", "ssh would read it as an option.", "the host's name"
        )
    if ":" in text:
        return ipv6(text)
    if not re.fullmatch(HOST, text):
        raise Wrong(
            f"{shown(text)} is not a host.",
            "a host holds letters, digits, dots, dashes and underscores.",
            "a name, an ssh alias or an address",
        )
    if len(text) > MAX_HOST:
        raise Wrong(
            f"{shown(text)} has {len(text):,} characters.",
            f"a host name has at most {MAX_HOST}.",
            "a shorter one",
        )
    if re.fullmatch(r"[0-9.]+", text):
        parts = text.split(".")
        if len(parts) != 4 or any(
            not part or int(part[:9]) > 255 or (part[0] == "0" and part != "0") for part in parts
        ):
            raise Wrong(
                f"{text} is not an IPv4 address.",
                "it has four numbers from 0 to 255.",
                "such as 10.18.122.130",
            )
    return text


def ipv6(text: str) -> str:
    from ipaddress import IPv6Address

    try:
        if text.isascii() and re.fullmatch(r"[0-9A-Fa-f:.]+(%[A-Za-z0-9_.-]+)?", text):
            return str(IPv6Address(text))
    except ValueError:
        pass
    raise Wrong(
        f"{shown(text)} is neither a host nor an IPv6 address.",
        "what follows a colon could be a port or a number of slots.",
        "{name: …, address: …, port: …, gpus: …}",
    )


def name(text: str, what: str = "node name", length: int = MAX_NAME) -> str:
    if not re.fullmatch(NAME, text) or len(text) > length:
        raise Wrong(
            f"{shown(text)} is not a valid {what}.",
            f"it becomes part of paths: letters, digits, `.`, `_` and `-`, a letter or digit first, at most {length}.",
            "such as node-0",
        )
    return text


def user(text: str) -> str:
    if text.startswith("-"):
        raise Wrong(
            f"{shown(text)} begins with a dash.", "ssh would read it as an option.", "the user's name"
        )
    if not re.fullmatch(USER, text) or len(text) > 255:
        raise Wrong(f"{shown(text)} is not a user's name.", do="letters, digits, `.`, `_`, `-`, `+` and `@`")
    return text


def interface(text: str) -> str:
    if "," in text or text[:1] in "^=":
        raise Wrong(
            f"{shown(text)} is a pattern or a list.",
            "NCCL takes patterns, gloo takes one exact name and crashes on anything else.",
            "one name such as eth0, or auto",
        )
    if not re.fullmatch(INTERFACE, text):
        raise Wrong(
            f"{shown(text)} is not a network interface.",
            "Linux allows 15 characters.",
            "such as eth0, ib0 or auto",
        )
    return text


def variable(text: str, do: str = "such as NCCL_DEBUG") -> str:
    if not re.fullmatch(VARIABLE, text) or len(text) > 255:
        raise Wrong(
            f"{shown(text)} is not a valid name for a variable.",
            "letters, digits and `_`, no digit first.",
            do,
        )
    if text.startswith("ALLRANKS_"):
        raise Wrong(
            f"{shown(text)} is a name of allranks' own.", "it would confuse the supervisor.", "another name"
        )
    return text


def variable_value(key: str, text: str) -> str:
    """The value of a variable; never echoed, since it may be a secret."""
    if looks_like_token(text, key):
        raise Wrong(
            "its value looks like an access token.",
            "run files are shown, stored and shared; they must not contain a secret.",
            f"export {key} where allranks runs, and secrets: [{key}]",
        )
    if "\0" in text:
        raise Wrong("a NUL character.", "no variable can hold one.", "the value without it")
    if len(text.encode("utf-8", "surrogatepass")) > MAX_VALUE:
        raise Wrong(
            f"a value of {len(text):,} characters.",
            "Linux passes at most 128 KiB.",
            "a file, and its path here",
        )
    return text


def secret(text: str) -> str:
    """The name of a secret; what may be the secret itself is not echoed."""
    if "=" in text or looks_like_token(text, "KEY") or not re.fullmatch(VARIABLE, text) or len(text) > 64:
        raise Wrong(
            "an entry that is not a valid name for a variable (it is not shown: it may be the secret itself).",
            "a run file holds only names; allranks takes the values from its environment.",
            "such as secrets: [HF_TOKEN]",
        )
    return variable(text)


def _form(pattern: str, what: str, do: str, why: str = "", most: int = 4096) -> Callable[[str], str]:
    """A function for text of a pattern; `what` is what other text is not."""

    def check(text: str) -> str:
        if not re.fullmatch(pattern, text) or len(text) > most:
            raise Wrong(f"{shown(text)} is not {what}.", why, do)
        return text

    return check


finding = _form(FINDING, "the id of a finding", "such as driver-differs, as `allranks check FILE` prints it")
image = _form(
    IMAGE,
    "an image",
    "such as hiyouga/llamafactory@sha256:…, or a path ending in .sif",
    "it holds letters, digits and ./_:@+- alone.",
    1024,
)
module = _form(MODULE, "an environment module", "such as cuda/12.1")
conda_name = _form(
    CONDA_NAME, "a valid name for a conda environment", "a name, or environment.python with its path"
)
scheduler_word = _form(
    SCHEDULER_WORD, "a name that a scheduler has", "letters, digits and `_.,@+:/-`", most=255
)
time_limit = _form(SLURM_TIME, "a time limit", "such as 90 (minutes), 24:00:00 or 2-12:00:00")
"""SLURM's forms: minutes, MM:SS, HH:MM:SS, D-HH, D-HH:MM, D-HH:MM:SS."""


def one_line(text: str) -> str:
    """Text without control characters; long enough for any path (PATH_MAX is 4,096)."""
    if not text.strip():
        raise Wrong("it is empty.", do="a value, or take the line out")
    if any(c < " " or c == "\x7f" for c in text):
        raise Wrong(f"{shown(text)} holds a control character.", do="one line of text")
    if len(text) > 4096:
        raise Wrong(f"{len(text):,} characters.", do="at most 4,096")
    return text


def path(text: str) -> str:
    one_line(text)
    if text.startswith("-"):
        raise Wrong(
            f"{shown(text)} begins with a dash.", "programs would read it as an option.", f"./{shown(text)}"
        )
    return text


def size(text: str) -> int:
    """Bytes of `16GiB`, `64G`, `1.5 GB`, `1024`. `G` and `GiB` are 2³⁰ (as docker's --shm-size), `GB` is 10⁹."""
    match = re.fullmatch(SIZE, text.strip()) if len(text) < 40 else None
    if match is None:
        raise Wrong(f"{shown(text)} is not a size.", do="such as 16GiB, 64GB or a number of bytes")
    number, prefix, binary = match.groups()
    base = 1000 if text.strip()[-1] in "bB" and not binary else 1024
    unit = base ** " kmgtp".index(prefix.lower() or " ")
    amount = int(float(number) * unit) if "." in number else int(number) * unit
    if not 0 < amount <= MAX_BYTES:
        raise Wrong(f"{shown(text)} is not a size that a machine has.", do="such as 16GiB")
    return amount


def mount(text: str) -> str:
    """`source:target[:options]`, both absolute; `~` at the start of the source is the node's home folder."""
    one_line(text)
    parts = text.split(":")
    if len(parts) not in (2, 3):
        raise Wrong(
            f"{shown(text)} is not a mount.", do="/on/the/node:/in/the/container, or with :ro after it"
        )
    source, target = parts[:2]
    if not source.startswith(("/", "~/")) and source != "~":
        raise Wrong(
            f"{shown(source)} is not an absolute path.",
            "docker would make an empty volume of that name.",
            f"the whole path on the node, such as /home/ubuntu/{shown(source).lstrip('./')}",
        )
    if not target.startswith("/"):
        raise Wrong(f"{shown(target)} is not an absolute path.", "containers need one.", f"/{shown(target)}")
    if len(parts) == 3 and not re.fullmatch(r"[A-Za-z][A-Za-z0-9,=_-]*", parts[2]):
        raise Wrong(f"{shown(parts[2])} are not mount options.", do="ro or rw")
    return text


def requirement(text: str) -> str:
    one_line(text)
    if text.startswith("-"):
        raise Wrong(
            f"{shown(text)} is an option of pip.", "these are packages.", "such as transformers==4.52.4"
        )
    return text


def model(text: str) -> str:
    one_line(text)
    if len(text) < 2 or len(text) > 80:
        raise Wrong(f"{shown(text)} is not a GPU model.", do="such as A100-SXM4-80GB, or cpu")
    return text.lower() if text.lower() == "cpu" else text


OPAQUE_CHARACTERS = 16
"""In words that mix letters and digits: Slack's, Discord's, Teams', Telegram's, Mattermost's tokens have 24 to 68 such
characters, a name of a channel or a cluster (`llama3-70b-h100`) fewer."""

SECRET_PARAMETER = r"(?i:key|token|secret|auth|passw(?:or)?d|pwd|sig|signature)=."

TOKEN_HOSTS = ("hooks.slack.com",)
"""Every address there holds a token, at times without a digit (docs.slack.dev, Incoming webhooks)."""


def webhook(text: str) -> str:
    """A web address with `{NAME}` in place of its secret parts: it is stored with the run, and never echoed."""
    if not re.fullmatch(URL, text) or len(text) > 2048:
        raise Wrong("it is not a web address.", "a webhook is called over HTTP.", "https://…")
    bare = re.sub(r"\{[A-Za-z_][A-Za-z0-9_]*\}", "{}", text)
    server, _, rest = re.sub(r"^https?://", "", bare).replace("?", "/?", 1).partition("/")
    if "@" in server:
        raise Wrong(
            "it holds a user or a password.",
            "run files are shown, stored and shared, and a webhook is called without a login.",
            "an address without the part before the @, and with the token in its path or query as {NAME}",
        )
    whole = server.partition(":")[0].lower() in TOKEN_HOSTS and "{}" not in rest
    if whole or any(_holds_a_secret(part) for part in re.split(r"[/?&;#]", rest)):
        raise Wrong(
            "a part of its path or query looks like a secret.",
            "run files are shown, stored and shared; they must not contain a secret.",
            "export WEBHOOK_TOKEN where allranks runs, secrets: [WEBHOOK_TOKEN], and {WEBHOOK_TOKEN} in its place",
        )
    return text


def _holds_a_secret(part: str) -> bool:
    """Of one part of an address, `{}` where a `{NAME}` stood."""
    if re.search(SECRET_PARAMETER, part) and "{}" not in part:
        return True
    words = re.split(r"%[0-9A-Fa-f]{2}|[^A-Za-z0-9]", part)
    mixed = [word for word in words if re.search(r"[A-Za-z]", word) and re.search(r"[0-9]", word)]
    return sum(map(len, mixed)) >= OPAQUE_CHARACTERS
