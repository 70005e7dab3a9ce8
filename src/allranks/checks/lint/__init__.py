"""Settings, line by line: what each variable, trainer argument and DeepSpeed key that a user wrote does.

The tables hold knowledge of readers (NCCL, torch, transformers, DeepSpeed, …) with the version it was read
from; rules of the catalogue turn what is void or wrong into findings.
"""

from allranks.checks.lint.line import COSTLY, DROPPED, SET, VOID, WRONG, Line

__all__ = ["COSTLY", "DROPPED", "SET", "VOID", "WRONG", "Line"]
