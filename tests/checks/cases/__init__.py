"""The cases of each check, in a file named as its own. Nothing is listed here."""

from allranks.core.rules import modules

CASES = modules(__name__)
