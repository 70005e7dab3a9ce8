"""What the tests of this room share."""

from tests.harness.bundle import bundle_at_hand

__all__ = ["bundle_at_hand"]
