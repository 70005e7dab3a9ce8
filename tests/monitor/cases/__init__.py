"""The cases of each detector, in a file named as its own. Nothing is listed here."""

from tests.cases import modules

CASES = modules(__name__, __path__)
