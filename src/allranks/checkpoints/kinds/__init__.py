"""Kinds of checkpoints besides allranks' own adapters: a file each, found without being listed.

A module has `KIND` (`checkpoints/kind.py`): how a place is recognized, and how its wholeness is told from tables,
sizes and names. None reads a pickle, and none reads the values.
"""
