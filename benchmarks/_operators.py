"""Where a training environment keeps the operators that DeepSpeed compiles."""

from __future__ import annotations

import sys
from pathlib import Path

from allranks.core import extensions

ROOT = Path(__file__).resolve().parent.parent


def operators(python: Path = Path(sys.executable)) -> str:
    """For TORCH_EXTENSIONS_DIR: the folder that `scripts/setup.sh` filled for the environment of this Python."""
    if python.parent != Path(sys.executable).parent:
        return str(python.parent.parent / extensions.FOLDER)  # one that `scripts/setup.sh --legacy` made
    cache = str(ROOT / ".cache")
    return extensions.folder(cache) or cache
