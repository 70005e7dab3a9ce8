"""Parameters, memory, traffic, time, ranks, environment and DeepSpeed JSON: pure arithmetic, no I/O, no torch."""

from allranks.plan.compare import compare
from allranks.plan.make import make_plan
from allranks.plan.pages import ids, page
from allranks.plan.result import Plan

__all__ = ["Plan", "compare", "ids", "make_plan", "page"]
