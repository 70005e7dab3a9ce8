"""Which hits of a cause are kept if there are many. The latest gives way to an earlier one: the first of a thousand
ranks to fail may have the last log."""

from __future__ import annotations

from typing import Dict, List, Optional

from allranks.diagnose.symptom import NO_TIME, Hit

HITS_PER_RANK = 3
HITS_PER_SYMPTOM = 256


def gives_way(hits: List[Hit], now: Optional[float], symptom: str, known: Dict[str, float]) -> bool:
    """Takes the latest of these hits away if `now` is earlier, and says whether it did. `known`: the times of such hits
    that need not be looked for again."""
    if now is None or now >= known.get(symptom, NO_TIME):
        return False
    times = [NO_TIME if hit.at is None else hit.at for hit in hits]
    latest = known[symptom] = max(times)
    if now < latest:
        del hits[times.index(latest)]
    return now < latest
