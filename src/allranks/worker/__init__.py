"""The part of allranks inside a training process: heartbeats, settings, exceptions, stacks, MoE leaf modules.

Loaded into every rank by the bundle's `sitecustomize.py`, without a change to the user's script. Nothing
here may stop, slow or alter the training: every entry is guarded, and torch, transformers, deepspeed and
tqdm are touched only after the script has imported them.
"""
