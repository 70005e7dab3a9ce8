from __future__ import annotations

from tests.monitor.reading import at, beats

FIRES = [
    {
        "events": beats(
            "a", 0, range(9), at(9.0), 500.0, retries=1, error="/m/1.safetensors: Input/output error"
        ),
        "saw": "1 read of the base model failed on a: /m/1.safetensors: Input/output error",
        "count": 1,
    },
    {"events": beats("a", 0, range(9), at(9.0), 500.0, retries=2, error="\x1b[31mx"), "saw": "2 reads"},
]

SILENT = [{"events": beats("a", 0, range(9), at(9.0), 500.0)}]
