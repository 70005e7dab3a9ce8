"""Which files hold code of libraries, and not the user's own."""

import re
from functools import lru_cache

LIBRARY = re.compile(
    r"(^|/)(site-packages|dist-packages|lib/python3[^/]*|lib/python3\.\d+)/|^<|\.zip/allranks/|/allranks/worker/"
)
"""Matches the path of such a file, with slashes."""


@lru_cache(maxsize=4096)
def is_own(path: str) -> bool:
    """Whether a file is the user's own code."""
    return LIBRARY.search(path.replace("\\", "/")) is None
