"""The states that a run ends in."""

NOT_SEEN = "unproven"
"""Every rank ended with 0, and nothing shows that anything was trained."""

FINAL = ("succeeded", "failed", "stopped", NOT_SEEN, "lost")
"""`lost`: the outcome is unknown."""
