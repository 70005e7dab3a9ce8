"""Stands in for torch where a test is about processes, signals and ports: `runner.light`. See distributed/run.py.

It stands first on the PYTHONPATH of the run, so checks and the launch take it for torch; nobody can train with it.
"""

from torch import distributed, version

__all__ = ["distributed", "version"]
__version__ = "2.13.0"
