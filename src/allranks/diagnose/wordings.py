"""Which cause the words of an error come nearest to, if no pattern, claim or subject knows it.

A symptom may have sentences: `symptoms/cuda_oom.txt` beside `symptoms/cuda_oom.py`, each line one way in which a
program or a user could report this cause. An unknown line is compared with all sentences of all symptoms, and those
that come nearest vote. So an error of a library that nobody here has seen can be named, if it uses the field's words.
The answer is never certain. The sentences of causes that explain nothing (a crash, noise, `unproven`) keep lines that
everybody writes from being taken for a cause.

Two texts are as near as the cosine of their words and pairs of neighbouring words, each weighted by how few sentences
have it (tf-idf: Manning, Raghavan, Schuetze, Introduction to Information Retrieval, 2008, sections 6.2 to 6.4; the
vote: section 14.3).
"""

from __future__ import annotations

import math
import pkgutil
import re
from collections import Counter
from typing import Dict, Iterable, List, NamedTuple, Optional, Tuple

NEAREST = 24
"""Sentences that vote."""
AGAIN = 0.5
"""The weight of a cause's further sentences behind its nearest one."""
FAR = 0.15
"""Added to the sum of all votes, so that a few weak ones lead by little."""
PAIR = 0.5
"""The weight of two neighbouring words against one word."""
UNKNOWN = 4.0
"""The square of a word's weight that no sentence has: it makes all of them more distant."""
LEAD = 0.25
"""A cause must have this share of the votes, after half of the second's is taken off. `python -m benchmarks
diagnose_corpus` counts what it gives."""

_WORD = re.compile(r"[A-Z]{1,80}(?![a-z])|[A-Z]?[a-z]{1,80}|\d{1,80}|[\u3040-\u30ff\u4e00-\u9fff]")
_EVERYWHERE = frozenset((
    "the", "a", "an", "of", "to", "in", "on", "is", "are", "was", "be", "been", "it", "this", "that", "and", "or",
    "for", "from", "with", "at", "by", "as", "your", "you", "we", "i",
))  # fmt: skip
_ENDINGS = ("ing", "ed", "es", "s")
_LONGEST = 700


def words(text: str) -> List[str]:
    """The words in small letters, of names too (`ncclSystemError`, `out_of_memory`), without their endings. Short
    numbers keep their value: a code means something, a size does not."""
    found = []
    for word in _WORD.findall(text[:_LONGEST]):
        word = word.lower()
        if word.isdigit():
            found.append(word if len(word) <= 3 else "#")
        elif word not in _EVERYWHERE:
            found.append(_stem(word))
    return found


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if len(word) > len(ending) + 3 and word.endswith(ending) and not word.endswith("ss"):
            return word[: -len(ending)]
    return word


def features(text: str) -> Dict[str, float]:
    """Each word and each pair of neighbours, with its own weight."""
    row = words(text)
    found = {word: 1.0 for word in row}
    found.update((first + " " + second, PAIR) for first, second in zip(row, row[1:]))  # noqa: RUF007 (Python 3.8)
    return found


class Nearest(NamedTuple):
    """The cause with the most votes, and its lead (0 to 1)."""

    cause: str
    lead: float


class Sentences:
    """All sentences, by the words that they have."""

    def __init__(self, sentences: Iterable[Tuple[str, str]]):
        """`sentences`: (cause, sentence) pairs."""
        rows = [(cause, features(text)) for cause, text in sentences]
        self.causes = [cause for cause, _ in rows]
        counts: "Counter[str]" = Counter()
        for _, row in rows:
            counts.update(row.keys())
        self.rarity = {feature: math.log(len(rows) / count) + 1 for feature, count in counts.items()}
        self.places: Dict[str, List[Tuple[int, float]]] = {}
        for number, (_, row) in enumerate(rows):
            weights = {feature: weight * self.rarity[feature] for feature, weight in row.items()}
            length = math.sqrt(sum(weight * weight for weight in weights.values())) or 1.0
            for feature, weight in weights.items():
                self.places.setdefault(feature, []).append((number, weight / length))

    def near(self, text: str) -> List[Tuple[float, int]]:
        """(cosine, number) of the nearest sentences, the nearest first."""
        row = features(text)
        weights = {name: weight * self.rarity[name] for name, weight in row.items() if name in self.rarity}
        unknown = sum(1 for name in row if name not in self.rarity and " " not in name)
        length = math.sqrt(sum(weight * weight for weight in weights.values()) + UNKNOWN * unknown) or 1.0
        sums: Dict[int, float] = {}
        for name, weight in weights.items():
            for number, other in self.places[name]:
                sums[number] = sums.get(number, 0.0) + weight * other
        nearest = sorted(((value / length, number) for number, value in sums.items()), key=_first)
        return nearest[:NEAREST]

    def vote(self, text: str) -> Optional[Nearest]:
        """The cause that leads; None if no sentence has a word of the text."""
        votes: Dict[str, float] = {}
        for cosine, number in self.near(text):
            cause, value = self.causes[number], cosine * cosine
            votes[cause] = votes[cause] + AGAIN * value if cause in votes else value
        if not votes:
            return None
        row = sorted(votes.items(), key=lambda vote: (-vote[1], vote[0]))
        second = row[1][1] if len(row) > 1 else 0.0
        return Nearest(row[0][0], (row[0][1] - second / 2) / (sum(votes.values()) + FAR))


def _first(one: Tuple[float, int]) -> Tuple[float, int]:
    return (-one[0], one[1])


_kept: Dict[str, Sentences] = {}


def read(package: str, names: Iterable[str]) -> Sentences:
    """The sentences of these causes: files of `package`, which may be in a zip. Read once."""
    if package not in _kept:
        _kept[package] = Sentences(
            (name, line) for name in names for line in lines(package, name) if line.strip()
        )
    return _kept[package]


def lines(package: str, name: str) -> List[str]:
    """The sentences of one cause, none if it has no file."""
    try:
        data = pkgutil.get_data(package, name.replace("-", "_") + ".txt")
    except OSError:
        return []
    return (data or b"").decode("utf-8").splitlines()
