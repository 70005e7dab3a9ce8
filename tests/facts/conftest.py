"""Makes `parts`, the building blocks of the recorded clusters, importable."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "recorded"))
