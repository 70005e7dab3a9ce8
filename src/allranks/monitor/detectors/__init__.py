"""One file a detector. Nothing is listed here: `catalogue` finds them by their files."""
