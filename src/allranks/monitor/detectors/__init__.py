"""One detector per file. `catalogue` finds them by their files, so there is no list of them here."""
