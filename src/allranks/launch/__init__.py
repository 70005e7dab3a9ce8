"""Plan → commands (pure) → what each node's supervisor is asked to start. Knows nothing of failures.

Nothing is imported here: whoever reads a run file asks for a launcher, and for nothing else of this room.
"""
