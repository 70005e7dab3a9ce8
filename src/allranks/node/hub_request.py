"""One question to the Hugging Face Hub over HTTP: the `config.json` of a model, and nothing else.

The answer is data: at most 1 MiB, and of the headers one of the codes that are known here. A token goes only to the
endpoint, not to the address that it redirects to, and no message contains it.
"""

from __future__ import annotations

import http.client
import os
import ssl
import urllib.error
import urllib.parse
import urllib.request
from typing import Any, Mapping, NamedTuple

from allranks.core.net import is_loopback
from allranks.node import hub_cache

ENDPOINT = "https://huggingface.co"
MOST_BYTES = 1 << 20
MOST_REDIRECTS = 5
REDIRECTS = (301, 302, 303, 307, 308)
CODES = ("GatedRepo", "RepoNotFound", "RevisionNotFound", "EntryNotFound")
"""The values of `X-Error-Code` that mean something to us (huggingface_hub, `utils/_http.py`)."""


class Answer(NamedTuple):
    """`status` is the HTTP status, 0 if there was no answer; then `trouble` says why. `code` is one of `CODES`."""

    status: int = 0
    code: str = ""
    body: bytes = b""
    trouble: str = ""
    certificate: bool = False
    """Whether it failed because the certificate was not accepted here; the client has certificates of its own."""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Each redirect is an error with its status, and only `ask` reads its address."""

    def http_error_302(self, req: Any, fp: Any, code: Any, msg: Any, headers: Any) -> None:
        return None

    http_error_301 = http_error_303 = http_error_307 = http_error_308 = http_error_302


def endpoint(variables: Mapping[str, str]) -> str:
    return (variables.get("HF_ENDPOINT") or ENDPOINT).rstrip("/")


def host_of(address: str) -> str:
    """The address's host and port as they may be in a message: without a user and a password."""
    return urllib.parse.urlsplit(address).netloc.rpartition("@")[2]


def refused(address: str, plain: bool) -> str:
    """Why this address is not asked; empty if it may be asked. `plain`: HTTP without TLS will do."""
    try:
        parts = urllib.parse.urlsplit(address)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        return "it is not an address"
    if not host or not address.isascii() or any(sign <= " " for sign in address):
        return "it is not an address"
    if parts.username is not None or parts.password is not None:
        return "it has a user or a password"
    if parts.scheme == "https" or (parts.scheme == "http" and (plain or is_loopback(host))):
        return ""
    return "it does not begin with https://"


def fetch(
    base: str, model: str, revision: str, seconds: float, token: str = "", plain: bool = False
) -> Answer:
    """The endpoint's answer for the model's config.json. The time limit is that of each step of the connection."""
    if not hub_cache.is_id(model) or not hub_cache.is_revision(revision):
        return Answer(trouble="that is not the name of a model and a revision")
    wrong = refused(base, plain)
    if wrong:
        return Answer(trouble=f"the endpoint: {wrong}")
    address = f"{base}/{model}/resolve/{urllib.parse.quote(revision, safe='')}/config.json"
    origin = _origin(base)
    for _ in range(MOST_REDIRECTS + 1):
        if _origin(address) != origin:
            token = ""
        answer = _once(address, token, seconds)
        if isinstance(answer, Answer):
            return answer
        try:
            address = urllib.parse.urljoin(address, answer)
        except ValueError:
            return Answer(trouble="a redirect: it is not an address")
        is_weaker = base.startswith("https:") and not address.startswith("https:")
        wrong = "it does not begin with https://" if is_weaker else refused(address, plain)
        if wrong:
            return Answer(trouble=f"a redirect: {wrong}")
    return Answer(trouble=f"more than {MOST_REDIRECTS} redirects")


def _origin(address: str) -> str:
    parts = urllib.parse.urlsplit(address)
    return f"{parts.scheme}://{parts.netloc.lower()}"


def _once(address: str, token: str, seconds: float) -> "Answer | str":
    """An answer, or the address that it redirects to."""
    request = urllib.request.Request(address, headers={"User-Agent": "allranks"})
    if token:
        request.add_unredirected_header("Authorization", "Bearer " + token)
    try:
        with _opener(address).open(request, timeout=seconds) as response:
            body = response.read(MOST_BYTES + 1)
            if len(body) > MOST_BYTES:
                return Answer(response.status, trouble=f"it is larger than {MOST_BYTES:,} bytes")
            return Answer(response.status, body=body)
    except urllib.error.HTTPError as error:
        with error:
            code = error.headers.get("X-Error-Code", "")
            if error.code in REDIRECTS:
                return error.headers.get("Location", "")
            return Answer(error.code, code if code in CODES else "")
    except (OSError, ValueError, http.client.HTTPException) as error:
        cause = error.reason if isinstance(error, urllib.error.URLError) else error
        return Answer(trouble=_why(cause), certificate=isinstance(cause, ssl.SSLError))


def _opener(address: str) -> urllib.request.OpenerDirector:
    """With the proxies of this process's variables, but for loopback, and with REQUESTS_CA_BUNDLE as the client."""
    context = ssl.create_default_context()
    bundle = os.environ.get("REQUESTS_CA_BUNDLE", "")
    if os.path.isfile(bundle):
        context.load_verify_locations(cafile=bundle)
    direct = is_loopback(urllib.parse.urlsplit(address).hostname or "")
    handlers = [urllib.request.ProxyHandler({})] if direct else []
    return urllib.request.build_opener(_NoRedirect, urllib.request.HTTPSHandler(context=context), *handlers)


def _why(cause: Any) -> str:
    """A reason in few words. Of other exceptions only the type: their text may hold a header or an address."""
    if isinstance(cause, ssl.SSLCertVerificationError):
        return f"its certificate is not accepted ({cause.verify_message})"
    if isinstance(cause, OSError) and cause.strerror:
        return str(cause.strerror)
    if isinstance(cause, OSError) and "timed out" in str(cause):
        return "no answer in time"
    return type(cause).__name__
