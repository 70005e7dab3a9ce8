"""Public training scripts under torchrun by hand and under allranks: the parts of `benchmarks/scripts.py`."""
