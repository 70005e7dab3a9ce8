"""The checks: one file each, found by being here."""
