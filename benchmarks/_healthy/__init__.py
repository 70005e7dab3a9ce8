"""Odd but healthy runs: the kinds, a rank that does them, one trial, and the short runs. See `benchmarks/healthy.py`."""
