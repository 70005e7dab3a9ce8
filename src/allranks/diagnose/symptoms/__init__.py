"""One file a symptom. Nothing is listed here: `catalogue` finds them by their files."""
