"""One POST of JSON. It does not follow redirects: a verdict goes only to the address that the user named."""

from __future__ import annotations

import urllib.error
import urllib.request
from typing import Any, Tuple


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


_OPENER = urllib.request.build_opener(_NoRedirect)


def post(address: str, body: bytes, seconds: float) -> Tuple[str, bool]:
    """(the error, whether to try again). The error never contains the address, which may include a token."""
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
