"""The metrics of runs as OTLP, for the HTTP receiver of an OpenTelemetry Collector or of a vendor.

Source: OpenTelemetry Protocol Specification 1.9, "OTLP/HTTP" and "JSON Protobuf Encoding": whole numbers of 64 bits are
strings, and a double that is not finite is the string "NaN", "Infinity" or "-Infinity" (protobuf's JSON mapping).
"""

from __future__ import annotations

import http.client
import json
import math
import os
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterable
from typing import Any

from allranks import __version__

SEND_SECONDS = 10.0
"""The specification's default time limit of an export."""

HEADERS = "OTEL_EXPORTER_OTLP_HEADERS"
"""The standard variable for a collector's key: `name=value` pairs with commas between them, percent-encoded."""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """The headers may hold a key, which must not reach another host."""

    def redirect_request(self, *args: Any, **words: Any) -> None:
        return None


def document(families: Iterable[Any], now: float) -> dict[str, Any]:
    """The samples of Prometheus' families as gauges, at `now` (seconds since the epoch)."""
    metrics: dict[str, dict[str, Any]] = {}
    for family in families:
        for sample in family.samples:
            point = {
                "attributes": [{"key": k, "value": {"stringValue": v}} for k, v in sample.labels.items()],
                "timeUnixNano": str(int(now * 1e9)),
                "asDouble": _double(float(sample.value)),
            }
            made = {"name": sample.name, "description": family.documentation, "gauge": {"dataPoints": []}}
            metrics.setdefault(sample.name, made)["gauge"]["dataPoints"].append(point)
    scope = {"scope": {"name": "allranks", "version": __version__}, "metrics": list(metrics.values())}
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "allranks"}}]}
    return {"resourceMetrics": [{"resource": resource, "scopeMetrics": [scope]}]}


def _double(value: float) -> float | str:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def address_of(url: str) -> str:
    """The address of the metrics below a collector's URL. Raises ValueError if it is not a URL of http or https."""
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"{url} is not a URL of http or https")
    path = parts.path.rstrip("/")
    return parts._replace(path=path if path.endswith("/v1/metrics") else f"{path}/v1/metrics").geturl()


def send(families: Iterable[Any], address: str, now: float) -> str:
    """Sends the metrics once. Returns why they did not arrive, or an empty string."""
    headers = {"Content-Type": "application/json", **_headers(os.environ.get(HEADERS, ""))}
    body = json.dumps(document(families, now), allow_nan=False).encode()
    request = urllib.request.Request(address, body, headers, method="POST")
    try:
        with urllib.request.build_opener(_NoRedirect).open(request, timeout=SEND_SECONDS) as answer:
            answer.read(1 << 16)
    except urllib.error.HTTPError as error:
        return f"it answers {error.code} {error.reason}"
    except OSError as error:
        return str(getattr(error, "reason", error))
    except (ValueError, http.client.HTTPException):
        # The error's text may quote a header, which may be a key.
        return f"the address, its answer or a header of {HEADERS} is not valid HTTP"
    return ""


def _headers(told: str) -> dict[str, str]:
    pairs = (pair.partition("=") for pair in told.split(",") if "=" in pair)
    return {name.strip(): urllib.parse.unquote(value.strip()) for name, _, value in pairs}
