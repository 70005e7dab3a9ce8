"""Which cause the words of an error are likeliest of, if no pattern, claim or subject knows it.

A symptom may have sentences: `symptoms/cuda_oom.txt` beside `symptoms/cuda_oom.py`, each line one way in which a
program or a user could report this cause. They teach how likely each word, and each pair of neighbours, is in the
reports of a cause and in those of all others. So an error of a library that nobody here has seen can be named, if it
uses the field's words. The answer is never certain. The sentences of causes that explain nothing (a crash, noise,
`unproven`) keep lines that everybody writes from being taken for a cause.

The method is naive Bayes with a uniform prior on weighted words: a word counts more, the fewer sentences have it, and
all sentences count alike, however long they are (Rennie, Shih, Teevan, Karger, Tackling the Poor Assumptions of Naive
Bayes Text Classifiers, ICML 2003; the words of all other causes are its complement). Words of other scripts are put
into English by a list of the field's words (`glossary.txt`), and those that it lacks are left out.
"""

from __future__ import annotations

import marshal
import math
import pkgutil
import re
from collections import Counter
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Set, Tuple, Union

from allranks.core.kept_beside import kept, key_of

PAIR = 0.7
"""The weight of two neighbouring words against one word."""
UNSEEN = 0.3
"""The count of a word in a cause whose sentences do not have it."""
UNKNOWN = 4.0
"""The square of a word's weight that no sentence has: such a text says less."""
LEAD = 0.1
"""A cause must have this probability, after half of the second's is taken off. It was chosen on texts that were
collected for it (docs/decisions/unknown-errors.md)."""

_WORD = re.compile(r"[A-Z]{1,80}s?(?![a-z])|[A-Z]?[a-z]{1,80}|127(?:\.\d{1,3}){3}|\d{1,80}")
_SAME = {
    "gpus": "gpu", "errors": "error", "err": "error", "exceptions": "exception", "fails": "fail", "failed": "fail",
    "failing": "fail", "failure": "fail", "failures": "fail", "nodes": "node", "hosts": "host", "machine": "node",
    "machines": "node", "can": "cannot", "cant": "cannot",
    "dont": "not", "doesnt": "not", "couldn": "cannot", "unable": "cannot", "isn": "not", "wasn": "not",
    "aren": "not", "doesn": "not", "didn": "not", "don": "not", "hasn": "not", "haven": "not", "won": "not",
}  # fmt: skip
"""Words that say the same. `can` is nearly always in `can't`."""
_EVERYWHERE = frozenset((
    "the", "a", "an", "of", "to", "in", "on", "is", "are", "was", "be", "been", "it", "this", "that", "and", "or",
    "for", "from", "with", "at", "by", "as", "your", "you", "we", "i", "t", "s",
))  # fmt: skip
_ENDINGS = (
    ("ies", "y"),
    ("ied", "y"),
    ("ing", ""),
    ("ed", ""),
    ("es", ""),
    ("e", ""),
    ("ion", ""),
    ("ure", ""),
)
_LEAST = 4
_LONGEST = 700
Feature = Union[str, Tuple[str, str]]

_stems: Dict[str, str] = {}


def words(text: str) -> List[str]:
    """The words in small letters, of names too (`ncclSystemError`, `out_of_memory`), without their endings. Short
    numbers keep their value: a code means something, a size does not. An address of the loopback is one word."""
    text = text[:_LONGEST] if text.isascii() else _english(text[:_LONGEST])
    found = []
    for word in _WORD.findall(text):
        stem = _stems.get(word)
        if stem is None:
            stem = _stem(word.lower())
            if len(_stems) < _STEMS_KEPT:
                _stems[word] = stem
        if stem:
            found.append(stem)
    return found


_STEMS_KEPT = 65536


def _stem(word: str) -> str:
    """The stem of a word, empty if it says nothing."""
    if word.isdigit():
        return word if len(word) <= 3 else "#"
    if word in _EVERYWHERE:
        return ""
    if word in _SAME:
        return _SAME[word]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending, other in _ENDINGS:
        if len(word) - len(ending) >= _LEAST and word.endswith(ending):
            return word[: -len(ending)] + other
    return word


def pairs(row: List[str]) -> "zip[Tuple[str, str]]":
    """Each word with the next one."""
    return zip(row, row[1:])  # noqa: RUF007 (Python 3.8)


def features(text: str) -> Set[Feature]:
    """Each word, and each pair of neighbours."""
    row = words(text)
    return {*row, *pairs(row)}


class Nearest(NamedTuple):
    """The likeliest cause, and its lead (0 to 1): its probability, less half of the second's."""

    cause: str
    lead: float


class Sentences:
    """The words of all sentences, and their weights.

    A diagnosis asks about few texts of few words, so what a word weighs in each cause is worked out when a text has it.
    """

    def __init__(self, sentences: Iterable[Tuple[str, str]]):
        """`sentences`: (cause, sentence) pairs."""
        self._rows = [(cause, words(text)) for cause, text in sentences]
        self._holders: Dict[str, List[int]] = {}
        """The numbers of the sentences that have this word, in order."""
        counts: "Counter[Feature]" = Counter()
        for number, (_, row) in enumerate(self._rows):
            different = set(row)
            counts.update(different)
            counts.update(set(pairs(row)))
            for word in different:
                self._holders.setdefault(word, []).append(number)
        self._counts: Dict[Feature, int] = dict(counts)
        every = {count: self._rarity_of(count) for count in set(counts.values())}
        self._lengths: List[float] = []
        sizes: Dict[str, float] = {}
        for cause, row in self._rows:
            single = [every[counts[word]] for word in set(row)]
            double = [PAIR * every[counts[pair]] for pair in set(pairs(row))]
            length = math.sqrt(sum(w * w for w in single) + sum(w * w for w in double)) or 1.0
            sizes[cause] = sizes.get(cause, 0.0) + (sum(single) + sum(double)) / length
            self._lengths.append(length)
        self._shares: Dict[Feature, Dict[str, float]] = {}
        """By word or pair, as far as texts had them."""

        whole, unseen = sum(sizes.values()), UNSEEN * len(counts)
        self._start = {c: math.log((whole - size + unseen) / (size + unseen)) for c, size in sizes.items()}
        """The weight of a word that a cause does not have, less the weight that it has for all."""

    def learned(self) -> Tuple[Any, ...]:
        """The state of this object, in types that `marshal` knows."""
        return self._rows, self._holders, self._counts, self._lengths, self._start

    @classmethod
    def of(cls, learned: Tuple[Any, ...]) -> "Sentences":
        new = cls(())
        new._rows, new._holders, new._counts, new._lengths, new._start = learned
        return new

    def _rarity_of(self, count: int) -> float:
        return math.log((1 + len(self._rows)) / (1 + count)) + 1

    def _weight(self, name: Feature) -> float:
        """The weight of a word, or of a pair, in a sentence, before the sentence's length is taken off."""
        return (1.0 if isinstance(name, str) else PAIR) * self._rarity_of(self._counts[name])

    def _share(self, name: Feature) -> Dict[str, float]:
        """The weight that a word, or a pair, has in all sentences of each cause that has it."""
        share = self._shares.get(name)
        if share is None:
            share = self._shares[name] = {}
            first, second = (name, "") if isinstance(name, str) else name
            holders = self._holders[first]
            if second and len(self._holders[second]) < len(holders):
                holders = self._holders[second]
            weight = self._weight(name)
            for number in holders:
                cause, row = self._rows[number]
                if isinstance(name, str) or name in pairs(row):
                    share[cause] = share.get(cause, 0.0) + weight / self._lengths[number]
        return share

    def probabilities(self, text: str) -> List[Tuple[float, str]]:
        """(probability, cause) of all causes, the likeliest first; empty if no sentence has a word of the text."""
        row = features(text)
        weights = {name: self._weight(name) for name in row if name in self._counts}
        unknown = sum(1 for name in row if isinstance(name, str) and name not in self._counts)
        length = math.sqrt(sum(weight * weight for weight in weights.values()) + UNKNOWN * unknown) or 1.0
        whole = sum(weights.values()) / length
        if not whole:
            return []
        said = {cause: start * whole for cause, start in self._start.items()}
        for name, weight in weights.items():
            weight, share = weight / length, self._share(name)
            every = sum(share.values()) + UNSEEN
            for cause, own in share.items():
                said[cause] += weight * math.log((own + UNSEEN) / UNSEEN * every / (every - own))
        most = max(said.values())
        odds = {cause: math.exp(value - most) for cause, value in said.items()}
        total = sum(odds.values())
        return sorted(((value / total, cause) for cause, value in odds.items()), key=_first)

    def vote(self, text: str) -> Optional[Nearest]:
        """The cause that leads; None if no sentence has a word of the text."""
        row = self.probabilities(text)
        if not row:
            return None
        second = row[1][0] if len(row) > 1 else 0.0
        return Nearest(row[0][1], row[0][0] - second / 2)


def _first(one: Tuple[float, str]) -> Tuple[float, str]:
    return (-one[0], one[1])


_OWN = "allranks.diagnose"
_kept: Dict[str, Sentences] = {}


def read(package: str, names: Iterable[str]) -> Sentences:
    """The sentences of these causes: files of `package`, which may be in a zip. Read once, and what they teach is
    kept beside this module: to learn it takes much longer than to read it."""
    if package not in _kept:
        files = {name: _data(package, name) for name in names}

        def learn() -> bytes:
            rows = ((name, line) for name, data in files.items() for line in _lines(data) if line.strip())
            return marshal.dumps(Sentences(rows).learned())

        parts = (_data(_OWN, "wordings", ".py"), _data(_OWN, "glossary"), *files.values())
        key = key_of(package.encode(), *(name.encode() for name in files), *parts)
        _kept[package] = Sentences.of(marshal.loads(kept(__file__, "sentences", key, learn)))
    return _kept[package]


def lines(package: str, name: str) -> List[str]:
    """The sentences of one cause, none if it has no file."""
    return _lines(_data(package, name))


def _lines(data: bytes) -> List[str]:
    return data.decode("utf-8").splitlines()


def _data(package: str, name: str, suffix: str = ".txt") -> bytes:
    try:
        return pkgutil.get_data(package, name.replace("-", "_") + suffix) or b""
    except OSError:
        return b""


# ---- other scripts ----

_OTHER = re.compile("[^\x00-\u024f\u2000-\u206f]{1,200}")
_glossary: Dict[str, str] = {}
_translated: "List[re.Pattern[str]]" = []


def _english(text: str) -> str:
    """The same text with the words of the glossary in English, without all others of other scripts."""
    if not _translated:
        rows = (line.partition(" ") for line in lines(_OWN, "glossary"))
        _glossary.update((word.replace("_", " "), english) for word, _, english in rows)
        row = sorted(_glossary, key=len, reverse=True)
        _translated.append(re.compile("|".join(map(re.escape, row))))
    text = _translated[0].sub(lambda match: f" {_glossary[match.group()]} ", text)
    return _OTHER.sub(" ", text)
