"""Turns a plan into commands (pure), and these into the job of each node's supervisor. It knows nothing about
failures.

This module imports nothing, so that reading a run file loads only the launcher that the file names.
"""
