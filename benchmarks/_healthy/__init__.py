"""Odd but healthy runs: the kinds, a rank that does them, one trial, the short runs. See `benchmarks/healthy.py`."""
