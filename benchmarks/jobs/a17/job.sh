NGPUS=2 python -u multigpu.py
