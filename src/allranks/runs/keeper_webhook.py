"""One POST of JSON. Redirects are not followed: a verdict goes to the address that was named, and to no other."""

from __future__ import annotations

import urllib.error
import urllib.request
from typing import Any, Tuple


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


_OPENER = urllib.request.build_opener(_NoRedirect)


def post(address: str, body: bytes, seconds: float) -> Tuple[str, bool]:
    """(the trouble, whether to try again); the trouble never holds the address, in which a token may stand."""
    try:
        request = urllib.request.Request(
            address, body, {"Content-Type": "application/json", "User-Agent": "allranks"}
        )
        with _OPENER.open(request, timeout=seconds):
            return "", False
    except urllib.error.HTTPError as error:
        code = error.code
        error.close()
        return f"the webhook answers {code}", code >= 500 or code == 429
    except Exception as error:
        return f"the webhook was not reached: {type(error).__name__}", True
