"""The one rank that prints another number or another word than all others do in the same line.

Jobs on several machines often fail because one of them has another argument, another configuration or other data. The
library then reports only that sizes differ, or that a peer is gone. The lines that the ranks print at their start, and
right before the end, show which one it is.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from typing import Dict, FrozenSet, Iterator, List, NamedTuple, Optional, Tuple

from allranks.core.secret_forms import without_secrets
from allranks.diagnose.alone import Alone
from allranks.diagnose.lines import Line
from allranks.diagnose.speakers import COUNTS, LOOKED_AT, RANKS, by_rank

SENTENCE = 4
"""The least words before the number of a step in a line that does not report this step."""

WORDS = 3
"""The least words of a line that only one rank prints."""

MOST_DIFFERENT = 3
"""So many words of a line may differ if it is to be the same line."""

EXTREME = 1.8e19
"""The square of a larger number is infinite in float32, whose largest is 3.4e38."""

FAR, FEWEST = 5.0, 10.0
"""So many times the next number is far away from it, if the larger of the two is at least this."""

ALIKE, TWICE = 0.15, 2.0
"""The same if all others, which are at least three, differ by no more than this share."""

BESIDE, BESIDE_SHOWN, SHOWN = 3, 40, 160
"""Words before a number that tell what it is; characters that are shown beside it, and of a line of one rank alone."""

_OPTION = re.compile(
    r"(?i)((?:(?<!\S)(?:-{1,2}p(?:w|wd|ass\w{0,20})?|-{1,2}(?:secret|auth|token|key|api)[\w-]{0,20}|login|token|secret|pass"
    r"(?:word|wd)?)[ =:]{1,2}|\w{0,40}PWD=))\S{1,400}"
)

_TOKEN = re.compile(
    r"(?i:[-+]?(?:nan|inf)(?![A-Za-z_]))|\d\d?:\d\d:\d\d(?:[.,]\d{1,9})?|(?:(?<!\w)[-+])?\d{1,40}(?:\.\d{1,40})?(?:[eE][-+]?\d{1,3})?|[A-Za-z_]{1,80}|[^\sA-Za-z_\d]"
)
_NOT_FINITE = frozenset((sign + word for sign in ("", "-", "+") for word in ("nan", "inf")))
_PASSES = frozenset(
    ("s", "ms", "us", "ns", "sec", "secs", "second", "seconds", "min", "minutes", "h", "it", "samples/s", "%")
)
_VARIES = frozenset((
    "pid", "port", "took", "elapsed", "time", "seed", "free", "used", "rss", "threads", "tid", "eta", "hash", "digest",
    "checksum", "log", "id",
))  # fmt: skip
"""Words before a number that differs from process to process for no reason."""

_LAUNCH = re.compile(
    r"^\+ |\b(?:torchrun|mpirun|accelerate launch|deepspeed|python[\d.]{0,5}) (?:.{0,200} )?\S{1,200}\.py\b"
    r"|(?i:\bnnodes\b|\bworld[_ ]?size\b|\bnproc|\barg(?:ument)?s\b[ :=]{0,3}\{|\bnamespace\()"
)
_OWN_OPTION = re.compile(
    r"(?i)(?:seed|out\w{0,10}|log\w{0,10}|dir|path|port|host|addr|name|tag|run|id|workers|threads|device|gpu|rank)"
    r"['\"]?[\s=:'\"]{1,4}\S{0,40}$"
)
"""An option in which ranks differ for no reason."""

Tokens = Tuple[str, ...]
Row = Tuple[Line, Tokens]
Told = Dict[int, List[Line]]
Forms = Dict[Tokens, Dict[int, List[Row]]]


class Difference(NamedTuple):
    """The line of the rank that differs, what it says there, and what all others say; empty if they say nothing."""

    rank: int
    line: Line
    said: str
    others: str
    value: str = ""
    usual: str = ""
    """The number or the word itself, of this rank and of the others."""
    before: str = ""
    """The words right before it."""
    is_far: bool = False
    """Whether the others differ, too, but by far less."""
    times: int = 1
    """In so many places of the lines it differs."""

    @property
    def is_of_launch(self) -> bool:
        """Whether the line shows how the rank was started."""
        if not self.others or _LAUNCH.search(self.line.text) is None:
            return False
        before, found, _ = self.line.text.partition(self.value or self.said)
        return _OWN_OPTION.search(before[-SHOWN:] + found) is None

    @property
    def is_extreme(self) -> bool:
        """Whether its number is NaN, infinite or so large that a square of it is."""
        try:
            return self.value.lower() in _NOT_FINITE or abs(float(self.value)) > EXTREME
        except ValueError:
            return False

    @property
    def note(self) -> str:
        others = f"; the others: {self.others!r}" if self.others else ""
        return f"only rank {self.rank} says {self.said!r}{others}"


def only_one_differs(seen: Alone) -> Optional[Difference]:
    """The only rank that prints something else than all others in a line that all of them print; if there is none, the
    only rank but 0 that prints a line of its own right before the end. None if it is not clear."""
    found: Optional[Difference] = seen.samples.once("difference", seen.count, lambda: _only_one_differs(seen))
    return found


def _only_one_differs(seen: Alone) -> Optional[Difference]:
    told = by_rank(seen)
    if len(told) < max(RANKS, len(seen.world)) or set(told) != set(range(len(told))):
        return None
    forms = _forms(told, seen.samples.names)
    for kind in (_other_numbers, _other_words, _far_numbers, _lines_of_its_own):
        found = list(kind(told, forms))
        ranks = {one.rank for one in found}
        if len(ranks) > 1:
            ranks.discard(0)  # it prints more than the others, and for all of them
        mine = [one for one in found if one.rank in ranks]
        if found:
            return mine[0]._replace(times=sum(one.times for one in mine)) if len(ranks) == 1 else None
    return None


def lines_of_its_own(seen: Alone, rank: int, last: int) -> List[Line]:
    """Those of the last lines of this rank whose words no other rank prints."""
    told = by_rank(seen)
    forms = _forms(told, seen.samples.names)
    mine = {line for rows in forms.values() if set(rows) == {rank} for line, _ in rows[rank]}
    return [line for line in told.get(rank, [])[-last:] if line in mine]


def _forms(told: Told, names: FrozenSet[str]) -> Forms:
    """The lines of each rank by their words."""
    forms: Forms = {}
    for rank, lines in told.items():
        for line in lines:
            tokens = _tokens(line, names)
            form = tuple(map(_masked, tokens))
            if any(token.isalpha() for token in form):
                forms.setdefault(form, {}).setdefault(rank, []).append((line, tokens))
    return forms


def _tokens(line: Line, names: FrozenSet[str]) -> Tokens:
    """The words of a line; a rank's own name is the same in each."""
    found = _TOKEN.findall(line.text[:LOOKED_AT])
    return tuple(found) if names.isdisjoint(found) else tuple("@" if t in names else t for t in found)


@functools.lru_cache(maxsize=4096)
def _masked(token: str) -> str:
    """The same for all numbers, and another for all times of day."""
    if not token.lstrip("+-")[:1].isdigit():
        return "0" if token.lower() in _NOT_FINITE else token
    return ":" if ":" in token else "0"


def _other_numbers(told: Told, forms: Forms) -> Iterator[Difference]:
    """Lines with the same words that each rank prints, for the same step or as often."""
    for place, rows in _columns(told, forms, False):
        found: List[Difference] = []
        for row in rows:
            said = {rank: tokens[place] for rank, (_, tokens) in row.items()}
            odd = _odd(said)
            if odd is None and len(set(said.values())) > 1:
                break
            if odd is not None:
                found.append(_difference(odd, row, place))
        else:
            if len({one.rank for one in found}) == 1:
                yield found[-1]._replace(times=len(found))


def _far_numbers(told: Told, forms: Forms) -> Iterator[Difference]:
    """The same if all numbers differ, and one of them is by far the largest or the smallest."""
    for place, rows in _columns(told, forms, True):
        far = {_far({rank: tokens[place] for rank, (_, tokens) in row.items()}) for row in rows}
        odd = far.pop() if len(far) == 1 else None
        if odd is not None:
            yield _difference(odd, rows[-1], place)._replace(is_far=True)


def _columns(told: Told, forms: Forms, durations: bool) -> Iterator[Tuple[int, List[Dict[int, Row]]]]:
    """The places of numbers in the lines that all ranks print, and these lines, side by side."""
    for form, mine in forms.items():
        if len(mine) < len(told):
            continue
        numbers = [n for n, token in enumerate(form) if token == "0"]
        counts = [n for n in numbers if _counts(form, n) and not _is_said_once(form, n, mine)]
        rows = list(_same_steps([n for n in counts if _is_common(n, mine)], mine))
        for place in numbers if rows else ():
            is_usual = place in counts or _varies(form, place)
            if not is_usual and (durations or not _is_passing(form, place)):
                yield place, rows


def _difference(odd: int, row: Dict[int, Row], place: int) -> Difference:
    line, tokens = row[odd]
    other, usual = next(said for rank, said in row.items() if rank != odd)
    before = "".join(tokens[max(0, place - BESIDE) : place])
    return Difference(
        odd, line, _around(line, place), _around(other, place), tokens[place], usual[place], before
    )


def _same_steps(counts: List[int], told: Dict[int, List[Row]]) -> Iterator[Dict[int, Row]]:
    """The lines of all ranks for the same step; without steps the first ones of all, the second ones, and so on."""
    steps: Dict[Tuple[Tokens, int], Dict[int, Row]] = {}
    for rank, rows in told.items():
        times: Counter[Tokens] = Counter()
        for line, tokens in rows:
            step = tuple(tokens[n] for n in counts)
            steps.setdefault((step, times[step]), {})[rank] = (line, tokens)
            times[step] += 1
    return (row for row in steps.values() if len(row) == len(told))


def _other_words(told: Told, forms: Forms) -> Iterator[Difference]:
    """Lines that each rank but 0 prints once, and in which few words differ."""
    alike: Dict[Tuple[int, Tokens], Dict[int, List[Row]]] = {}
    for form, mine in forms.items():
        first = tuple(token for token in form if token.isalpha())[:2]
        for rank, rows in mine.items():
            alike.setdefault((len(form), first), {}).setdefault(rank, []).extend(rows)
    for (_, first), mine in alike.items():
        if len(mine) == len(told) and len(first) == 2 and all(len(rows) == 1 for rows in mine.values()):
            yield from _other_word({rank: rows[0] for rank, rows in mine.items()})


def _other_word(row: Dict[int, Row]) -> Iterator[Difference]:
    """One line of each rank. A word that is different in each of them only names the rank."""
    form = tuple(map(_masked, row[0][1]))
    odd: Dict[int, int] = {}
    for place in range(len(form)):
        said = {rank: tokens[place] for rank, (_, tokens) in row.items()}
        one = _odd(said)
        if one is None and 1 < len(set(said.values())) < len(said):
            return
        is_usual = _counts(form, place) or _is_passing(form, place) or _varies(form, place)
        if form[place] != ":" and one is not None and not is_usual:
            odd[place] = one
    ranks = set(odd.values())
    if len(ranks) == 1 and 0 not in ranks and len(odd) <= MOST_DIFFERENT:  # rank 0 has tasks of its own
        yield _difference(ranks.pop(), row, next(iter(odd)))


def _lines_of_its_own(told: Told, forms: Forms) -> Iterator[Difference]:
    """The last line of a rank, if no other prints one like it."""
    of_last = {row[-1][0]: form for form, rows in forms.items() for row in rows.values()}
    for rank, lines in told.items():
        form = of_last.get(lines[-1], ())
        if rank and len(forms.get(form, ())) == 1 and sum(token.isalpha() for token in form) >= WORDS:
            yield Difference(rank, lines[-1], _without_secrets(lines[-1].text)[:SHOWN], "")


def _odd(said: Dict[int, str]) -> Optional[int]:
    """The one rank that says something else than all others, or whose number is not finite."""
    bad = [rank for rank, value in said.items() if value.lower() in _NOT_FINITE]
    if bad:
        return bad[0] if len(bad) == 1 else None
    counts = Counter(said.values())
    if len(counts) != 2 or len(said) < RANKS:
        return None
    other, times = counts.most_common()[1]
    return next(rank for rank, value in said.items() if value == other) if times == 1 else None


def _far(said: Dict[int, str]) -> Optional[int]:
    """The one rank whose number is by far the largest or the smallest."""
    try:
        numbers = sorted((float(value), rank) for rank, value in said.items())
    except ValueError:
        return None
    (least, first), (second, _), (before, _), (most, last) = numbers[0], numbers[1], numbers[-2], numbers[-1]
    if len(numbers) > RANKS:  # three others that nearly agree show what is usual
        if before - least <= ALIKE * before and most >= TWICE * before and most >= FEWEST:
            return last
        is_rest = first == len(numbers) - 1  # the last part of something may be smaller
        if most - second <= ALIKE * most and second >= TWICE * least > 0 and second >= FEWEST and not is_rest:
            return first
    if most > FAR * before and most >= FEWEST:
        return last
    return first if second > FAR * least > 0 and second >= FEWEST else None  # rank 0 begins with item 0


def _counts(form: Tokens, place: int) -> bool:
    """Whether this number counts steps."""
    return COUNTS.search("".join(form[max(0, place - BESIDE) : place])) is not None


def _is_common(place: int, told: Dict[int, List[Row]]) -> bool:
    """Whether all ranks print the same number here in one line at least: a shard's number stands only in one rank's."""
    return bool(set.intersection(*({tokens[place] for _, tokens in rows} for rows in told.values())))


def _is_said_once(form: Tokens, place: int, told: Dict[int, List[Row]]) -> bool:
    """Whether each rank prints such a line once, in which the number is not the first thing: `resuming at step 200`."""
    words = sum(token.isalpha() for token in form[:place])
    return words >= SENTENCE and all(len(rows) == 1 for rows in told.values())


def _is_passing(form: Tokens, place: int) -> bool:
    """Whether this number is a duration."""
    after = form[place + 1] if place + 1 < len(form) else ""
    return after.lower() in _PASSES


def _varies(form: Tokens, place: int) -> bool:
    """Whether this number is one that varies from process to process."""
    before = next((token for token in reversed(form[:place]) if token.isalpha()), "")
    return before.lower() in _VARIES


def _without_secrets(text: str) -> str:
    """The text without secrets, also without those that a command line has behind an option."""
    return _OPTION.sub(r"\1***", without_secrets(text))


def _around(line: Line, place: int) -> str:
    """The words beside this one; all of a line with a secret, a part of which could not be recognized."""
    safe = _without_secrets(line.text)
    if safe != line.text:
        return safe[:LOOKED_AT]
    spans = [found.span() for found in _TOKEN.finditer(line.text[:LOOKED_AT])]
    begin = max(0, spans[place][0] - BESIDE_SHOWN)
    end = min(len(line.text), spans[place][1] + BESIDE_SHOWN)
    text = line.text[begin:end]
    before, after = line.text[:begin][-1:], line.text[end : end + 1]
    if before.strip():
        text = text.partition(" ")[2] or text
    if after.strip():
        text = text.rpartition(" ")[0] or text
    return text.strip()
