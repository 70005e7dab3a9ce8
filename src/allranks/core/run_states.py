"""The states that a run ends in."""

FINAL = ("succeeded", "failed", "stopped", "unproven", "lost")
"""`unproven`: every rank ended with 0, and nothing shows that anything was trained. `lost`: nobody can tell."""
