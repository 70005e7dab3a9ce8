"""The cases of each finding, in a file named as its own. Nothing is listed here."""

from tests.cases import modules

CASES = modules(__name__, __path__)
