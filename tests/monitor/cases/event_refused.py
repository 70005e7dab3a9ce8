"""Cases of monitor/detectors/event_refused.py."""

from __future__ import annotations

_WHY = {"why": "beat: step: 'x' is not a whole number"}
FIRES = [{"events": [{"at": 1.0, "kind": "refused", "node": "a", "rank": 0, "data": _WHY}]}]
SILENT = [{"events": [{"at": 1.0, "kind": "beat", "node": "a", "rank": 0, "data": {"step": 1}}]}]
