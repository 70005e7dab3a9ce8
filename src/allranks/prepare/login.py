"""The run's user inside its container: a user who is not root gets the name and the home that programs ask for."""

from __future__ import annotations

import re
from typing import Any

from allranks.prepare import engine
from allranks.prepare.description import Description

ENTRY = """
import pwd, sys
uid, gid, name, home = sys.argv[1:]
try:
    pwd.getpwuid(int(uid))
except KeyError:
    try:
        pwd.getpwnam(name)
    except KeyError:
        pass
    else:
        name = "uid" + uid
    with open("/etc/passwd", "a") as file:
        file.write("%s:x:%s:%s::%s:/bin/sh\\n" % (name, uid, gid, home))
"""
"""Run inside as root: gives the node's user an entry in /etc/passwd. Without one getpass, ssh and torch's compiler
end with "uid not found"; an image's own user of that number, and a name that is taken, stay as they are."""

NAME = re.compile(r"[a-z_][a-z0-9_-]{0,31}")
"""What useradd(8) takes, and what cannot break a line of /etc/passwd."""


def name_of(found: Any) -> str:
    """The node's name of the user if it is one that /etc/passwd can hold."""
    name = str(found or "")
    return name if NAME.fullmatch(name) else "allranks"


def is_needed(wanted: Description) -> bool:
    """Whether the user has to be written into the image's /etc/passwd; podman does it with keep-id."""
    return wanted.user.partition(":")[0] != "0" and wanted.engine == "docker" and not wanted.option("user")


def entry(wanted: Description) -> tuple[str, ...]:
    """The command that does it, as root in the container."""
    uid, _, gid = wanted.user.partition(":")
    words = (uid, gid, wanted.user_name, engine.user_home(wanted))
    return (wanted.python, "-I", "-S", "-c", ENTRY, *words)
