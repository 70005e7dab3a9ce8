"""Words of a command line that are known in part only."""

from __future__ import annotations


class Home(str):
    """A path that begins with `~` without quotes. Paths that allranks reads may be there; what the ranks get may not:
    no shell runs on the nodes."""

    __slots__ = ()


class Pattern(str):
    """A word without quotes that a shell would replace by the files that it matches, such as `*.json`. An option that a
    launcher reads may be one; what the ranks get may not."""

    __slots__ = ()


class Unknown(str):
    """A word as it is written, with a variable that allranks cannot resolve. That is acceptable in an option that is
    left out, but an error in anything that the ranks would get. `needs` names the variable, `every` all of them."""

    __slots__ = ("every", "needs")

    def __new__(cls, text: str, *needs: str) -> Unknown:
        word = super().__new__(cls, text)
        word.needs, word.every = needs[0], needs
        return word


def known(word: str) -> str:
    """The word. Raises LookupError, with the word, if only a shell knows it."""
    if isinstance(word, Unknown):
        raise LookupError(word)
    return word


def str_like(word: str, text: str) -> str:
    """A piece of a word that is not known is not known either."""
    return Unknown(text, *word.every) if isinstance(word, Unknown) and "$" in text else text
