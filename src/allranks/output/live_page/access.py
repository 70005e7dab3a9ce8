"""The control of access to the page. A request must know the address, come from this machine, and name this host.

The token is the first part of the path. A browser would send a cookie to every other port of 127.0.0.1 as well, where
another user's program may listen; it does not do so with a path. So every request carries the token, and the browser
does not store it.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
"""No inline script or style, nothing from other hosts, and no text that a script could turn into markup."""

HEADERS = (
    ("content-security-policy", POLICY),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("permissions-policy", "camera=(), microphone=(), geolocation=()"),
    ("cache-control", "no-store"),
)


def new_token() -> str:
    """A new random token of 256 bits."""
    return secrets.token_urlsafe(32)


class Guard:
    """Accepts requests below `/TOKEN/`, and removes the token from the path. All other requests get an empty 404."""

    def __init__(self, app: App, token: str, port: int):
        self.app, self.token = app, token.encode()
        self.hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        first, slash, rest = str(scope.get("path", ""))[1:].partition("/")
        known = hmac.compare_digest(first.encode("utf-8", "replace"), self.token)
        if not known or not slash or not self.allowed(headers_of(scope)):
            await refuse(send)
            return
        await self.app(
            {**scope, "path": f"/{rest}", "raw_path": None, "root_path": ""}, receive, dressed(send)
        )

    def allowed(self, headers: Mapping[str, str]) -> bool:
        """Whether the browser asked for this host (another name that points here does not count). Every request,
        except the one that opens the page, must come from the page itself."""
        origin = headers.get("origin")
        opens = headers.get("sec-fetch-dest") == "document" and origin is None
        return (
            headers.get("host", "") in self.hosts
            and (origin is None or origin in {f"http://{host}" for host in self.hosts})
            and (opens or headers.get("sec-fetch-site", "none") in ("none", "same-origin"))
        )


def headers_of(scope: Scope) -> dict[str, str]:
    return {
        name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope.get("headers", ())
    }


async def refuse(send: Send) -> None:
    """Sends the same answer for every reason, so that it reveals nothing about the token."""
    await send({"type": "http.response.start", "status": 404, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body", "body": b""})


def dressed(send: Send) -> Send:
    """Adds the headers to every answer of the application."""

    async def sent(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            ours = {name for name, _ in HEADERS}
            kept = [one for one in message.get("headers", ()) if one[0].decode("latin-1").lower() not in ours]
            message = {**message, "headers": [*kept, *((n.encode(), v.encode()) for n, v in HEADERS)]}
        await send(message)

    return sent
